"""Plain Spark: one table of PostgreSQL read by JDBC, a connection per core, into Parquet or Delta.

usage: spark_jdbc.py FORMAT TABLE KEY   with a folder to write to on each line of the standard input,
and SOURCE_URL, SOURCE_USER, SOURCE_PASSWORD, JARS in the environment
"""

import json
import os
import sys
import time

from pyspark.sql import SparkSession

form, table, key = sys.argv[1:]
url, cores = os.environ["SOURCE_URL"], os.cpu_count()
login = {
    "user": os.environ["SOURCE_USER"],
    "password": os.environ["SOURCE_PASSWORD"],
    "driver": "org.postgresql.Driver",
}
login["fetchsize"] = "10000"
spark = (
    SparkSession.builder.config("spark.jars", os.environ["JARS"])
    .config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
    .config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog")
    .config("spark.sql.legacy.charVarcharAsString", "true")
    .config("spark.driver.memory", "4g")
    .getOrCreate()
)
for folder in map(str.strip, sys.stdin):
    begun = time.perf_counter()
    low, high = spark.read.jdbc(url, f"(SELECT min({key}), max({key}) FROM {table}) AS q", properties=login).first()
    rows = spark.read.jdbc(url, table, key, low, high, cores, properties=login)
    rows.write.format(form).mode("overwrite").save(folder)
    print(json.dumps({"seconds": time.perf_counter() - begun}), flush=True)
