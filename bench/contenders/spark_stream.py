"""Spark structured streaming: Debezium's events in a topic of Kafka, merged into a Delta table batch by batch, as one writes it by hand.

usage: spark_stream.py BROKERS TOPIC   with a folder to write to on each line of the standard input, and JARS in the environment

Each line is one query with `availableNow`, which ends when it has merged what the topic had when it began.
"""

import json
import os
import sys
import time

from delta.tables import DeltaTable
from pyspark.sql import SparkSession
from pyspark.sql import functions as f
from pyspark.sql.window import Window

brokers, topic = sys.argv[1:]
cores = os.cpu_count()
# As Debezium writes them: days as numbers, moments and decimals as texts.
row = "id bigint, customer int, status string, total string, quantity int, price double, day int, note string, ok boolean, at timestamp"
envelope = f"op string, before struct<id bigint>, after struct<{row}>"
values = {
    "id": "id", "customer": "after.customer", "status": "after.status", "total": "cast(after.total AS decimal(12,2))",
    "quantity": "after.quantity", "price": "after.price", "day": "date_from_unix_date(after.day)", "note": "after.note",
    "ok": "after.ok", "at": "after.at",
}  # fmt: skip
spark = (
    SparkSession.builder.config("spark.jars", os.environ["JARS"])
    .config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
    .config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog")
    .config("spark.sql.session.timeZone", "UTC")
    .config("spark.driver.memory", "4g")
    # 200 tasks for each shuffle of a batch would be most of its time on a few cores.
    .config("spark.sql.shuffle.partitions", str(cores))
    # Rows that a MERGE replaces are marked, and their files are not written again.
    .config("spark.databricks.delta.properties.defaults.enableDeletionVectors", "true")
    .getOrCreate()
)


def merge(batch, _number):
    """The last change of each key, by its offset: a key is always in the same partition."""
    newest = Window.partitionBy("id").orderBy(f.col("offset").desc())
    changes = batch.withColumn("n", f.row_number().over(newest)).where("n = 1").selectExpr("op", *selected)
    (
        DeltaTable.forPath(spark, folder).alias("t").merge(changes.alias("s"), "t.id = s.id")
        .whenMatchedDelete("s.op = 'd'")
        .whenMatchedUpdate(set={name: f"s.{name}" for name in values})
        .whenNotMatchedInsert("s.op <> 'd'", {name: f"s.{name}" for name in values})
        .execute()
    )  # fmt: skip


selected = [f"{value} AS {name}" for name, value in values.items()]
for folder in map(str.strip, sys.stdin):
    begun = time.perf_counter()
    if not DeltaTable.isDeltaTable(spark, folder):
        empty = spark.createDataFrame([], "op string, before struct<id bigint>, id bigint, after struct<" + row + ">")
        empty.selectExpr(*selected).write.format("delta").save(folder)
    # Without a limit of offsets the backlog is one batch: one MERGE, which is the least work there is. Partitions are read side by side.
    records = (
        spark.readStream.format("kafka").option("kafka.bootstrap.servers", brokers).option("subscribe", topic)
        .option("startingOffsets", "earliest").load().where("value IS NOT NULL")
    )  # fmt: skip
    events = records.select("offset", f.from_json(f.col("value").cast("string"), envelope).alias("e")).selectExpr(
        "offset", "e.op", "coalesce(e.after.id, e.before.id) AS id", "e.after"
    )
    query = (
        events.writeStream.foreachBatch(merge).option("checkpointLocation", f"{folder}.checkpoint")
        .trigger(availableNow=True).start()
    )  # fmt: skip
    query.awaitTermination()
    print(json.dumps({"seconds": time.perf_counter() - begun}), flush=True)
