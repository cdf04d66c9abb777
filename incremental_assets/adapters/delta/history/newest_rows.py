"""The newest version that a history has of each key."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import Window as Over
from pyspark.sql import functions as sf

from incremental_assets.adapters.spark.expressions import all_of, column
from incremental_assets.adapters.spark.own_names import BATCH, COPY, SEQ, TARGET
from incremental_assets.core.model.change_columns import CHANGE_NUMBER, COMMIT_LSN, tells_places
from incremental_assets.core.model.history import VALID_TO, History
from incremental_assets.core.model.table import TableSpec

if TYPE_CHECKING:
    from incremental_assets.adapters.delta.history.table import Tables


def newest_rows(session: SparkSession, of: Tables, seen: DataFrame | None) -> DataFrame:
    """Whatever it says; of the keys that are `seen`, or of all."""
    rows = session.read.format("delta").load(of.path)
    if of.spec.history is History.SCD2:
        return rows.where(column(VALID_TO).isNull())
    if seen is not None:
        same = all_of(column(name, TARGET).eqNullSafe(column(name, BATCH)) for name in of.spec.key)
        rows = rows.alias(TARGET).join(seen.alias(BATCH), on=same, how="left_semi")
    return latest(of.spec, rows)


def latest(spec: TableSpec, rows: DataFrame) -> DataFrame:
    """Of a history that tells no validity, the last version of each key."""
    by_key = Over.partitionBy(*(column(name) for name in spec.key)).orderBy(*newest_first(spec))
    return rows.withColumn(COPY, sf.row_number().over(by_key)).where(sf.col(COPY) == 1).drop(COPY)


def newest_first(spec: TableSpec) -> tuple[Column, ...]:
    """By the sequences that brought them; of those that one has brought, by their places in the source's log."""
    places = (COMMIT_LSN, CHANGE_NUMBER) if tells_places(spec) else ()
    return tuple(sf.col(name).desc() for name in (SEQ, *places))
