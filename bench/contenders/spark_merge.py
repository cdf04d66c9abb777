"""The ten lines that one writes oneself: what is newer than the copy's newest row is read by JDBC and merged into a Delta table.

usage: spark_merge.py FOLDER TABLE KEY   with SOURCE_URL, SOURCE_USER, SOURCE_PASSWORD, JARS in the environment
"""

import json
import os
import sys
import time

from delta.tables import DeltaTable
from pyspark.sql import SparkSession

folder, table, key = sys.argv[1:]
login = {
    "user": os.environ["SOURCE_USER"],
    "password": os.environ["SOURCE_PASSWORD"],
    "driver": "org.postgresql.Driver",
}
spark = (
    SparkSession.builder.config("spark.jars", os.environ["JARS"])
    .config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
    .config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog")
    .config("spark.sql.legacy.charVarcharAsString", "true")
    .config("spark.sql.session.timeZone", "UTC")
    .getOrCreate()
)
begun = time.perf_counter()
target = DeltaTable.forPath(spark, folder)
newest = target.toDF().agg({"updated_at": "max"}).first()[0]
newer = f"(SELECT * FROM {table} WHERE updated_at > '{newest}+00') AS q"
changes = spark.read.jdbc(os.environ["SOURCE_URL"], newer, properties=login)
merge = target.alias("t").merge(changes.alias("s"), f"t.{key} = s.{key}")
merge.whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()
print(json.dumps({"seconds": time.perf_counter() - begun}))
