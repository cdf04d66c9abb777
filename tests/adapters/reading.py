"""A plan's rows in Spark through the dialect's own SQL and one shared snapshot, as the product's reader asks for them."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from incremental_assets.adapters.databases.jdbc import ReadQuery
from incremental_assets.adapters.databases.measure import spark_row_hash
from incremental_assets.adapters.databases.postgresql.connect import jdbc_properties, jdbc_url, session_init
from incremental_assets.adapters.databases.postgresql.pinned import Limits
from incremental_assets.adapters.databases.postgresql.rows.read import read_query
from incremental_assets.adapters.databases.postgresql.rows.reader import JdbcReader
from incremental_assets.adapters.delta.staging.arrow_staging import counting_of
from incremental_assets.adapters.delta.staging.staging_task import StageUnit, apply
from incremental_assets.adapters.spark.manifest import record
from incremental_assets.adapters.spark.own_names import LATE, OPERATION, RAW, REJECT_COLUMN, REJECT_REASON
from incremental_assets.adapters.spark.staged import read_staged
from incremental_assets.core.model.column import Column
from incremental_assets.core.model.measure import Measure
from incremental_assets.core.model.window import Window
from incremental_assets.core.planning.plan import SyncPlan
from tests.adapters.source import Source


def loaded(
    spark: SparkSession, source: Source, sql: str, parts: tuple[str, ...] = (), snapshot_id: str | None = None
) -> DataFrame:
    address = source.address()
    properties = jdbc_properties(address)
    reader = spark.read.option("sessionInitStatement", session_init(snapshot_id, Limits(timedelta(minutes=15))))
    if parts:
        return reader.jdbc(jdbc_url(address), f"({sql}) AS s", predicates=list(parts), properties=properties)
    return reader.jdbc(jdbc_url(address), f"({sql}) AS s", properties=properties)


def copied(spark: SparkSession, source: Source, plan: SyncPlan, folder: Path) -> DataFrame:
    """The rows as a task reads and stages them, under the source's own names, with the flags of the read; counted by the task as by the source."""
    with source.open().snapshot(plan) as snapshot:
        parts = JdbcReader(source.address()).parts(plan, snapshot)
        types, counting = tuple(column.spark_type for column in plan.spec.columns), counting_of(plan)
        counted = [
            apply(StageUnit(part, types, counting, str(folder / f"{place}.parquet")))
            for place, part in enumerate(parts or ())
        ]
        assert sum(each.rows for each in counted) == snapshot.rows
        assert sum(each.rejected for each in counted) == snapshot.rejected
    record(str(folder))
    return read_staged(spark, str(folder), plan.spec).drop(OPERATION)


def rows_of(spark: SparkSession, source: Source, plan: SyncPlan, parts: int = 1) -> tuple[ReadQuery, DataFrame]:
    """As Spark reads them; collected in the driver's memory, so that the snapshot may close."""
    with source.open().snapshot(plan) as snapshot:
        query = read_query(plan, parts, clean=snapshot.rejected == 0)
        raw = loaded(spark, source, query.sql, query.parts, snapshot.handle.snapshot_id)
        columns = [sf.expr(travelling.spark).alias(travelling.name) for travelling in query.transports]
        frame = raw.select(*columns, REJECT_COLUMN, REJECT_REASON, RAW, LATE).localCheckpoint(eager=True)
    return query, frame


def measured(frame: DataFrame, columns: tuple[Column, ...]) -> Measure:
    total = sf.expr(f"CAST(coalesce(sum(CAST({spark_row_hash(columns)} AS DECIMAL(38,0))), 0) AS STRING)")
    rows, digest = frame.agg(sf.count("*"), total).collect()[0]
    return Measure(Window(None, None), rows, digest)
