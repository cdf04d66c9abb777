"""Rows of a copy that stand for rows of the source: those that are not marked as gone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from incremental_assets.adapters.spark.own_names import DELETED_AT, SEQ, TIMES
from incremental_assets.core.model.schema_drift import TargetColumn
from incremental_assets.core.model.table import TableSpec

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def marks_deletes(there: Sequence[TargetColumn]) -> bool:
    """Whether a copy with these columns can say of a row that it is gone."""
    return any(found.name == DELETED_AT for found in there)


def live(rows: DataFrame, there: Sequence[TargetColumn]) -> DataFrame:
    """The rows of a copy with these columns, without those that are marked."""
    return rows.where(f"{DELETED_AT} IS NULL") if marks_deletes(there) else rows


def standing(spec: TableSpec, rows: DataFrame, there: Sequence[TargetColumn]) -> DataFrame:
    """The same; of a copy that keeps versions the latest of each key, where that is not marked."""
    return live(latest_of_each_key(spec, rows), there)


def latest_of_each_key(spec: TableSpec, rows: DataFrame) -> DataFrame:
    """An append keeps every version that a sync saw; the source shows the last of them."""
    if not spec.traits.keeps_versions or not spec.key:
        return rows
    # Inside the function: the names above are asked for where no Spark has been started yet.
    from pyspark.sql import Window as Over
    from pyspark.sql import functions as sf

    from incremental_assets.adapters.spark.expressions import column, cursor_column

    order = [sf.col(SEQ).desc(), *([cursor_column(spec).desc_nulls_last()] if spec.cursor_columns else [])]
    newest = Over.partitionBy(*(column(name) for name in spec.key)).orderBy(*order)
    return rows.withColumn(TIMES, sf.row_number().over(newest)).where(sf.col(TIMES) == 1).drop(TIMES)
