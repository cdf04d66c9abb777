"""Rows of a copy that stand for rows of the source: those that are not marked as gone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from incremental_assets.adapters.spark.own_names import DELETED_AT, SEQ, TIMES, own
from incremental_assets.core.model.change_columns import CHANGE_NUMBER, COMMIT_LSN, OP, Op, keeps_changes
from incremental_assets.core.model.schema_drift import TargetColumn
from incremental_assets.core.model.table import TableSpec

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_NUMBER, _EMPTIED = own("number"), own("emptied")


def marks_deletes(there: Sequence[TargetColumn]) -> bool:
    """Whether a copy with these columns can say of a row that it is gone."""
    return any(found.name == DELETED_AT for found in there)


def live(rows: DataFrame, there: Sequence[TargetColumn]) -> DataFrame:
    """The rows of a copy with these columns, without those that are marked."""
    return rows.where(f"{DELETED_AT} IS NULL") if marks_deletes(there) else rows


def standing(spec: TableSpec, rows: DataFrame, there: Sequence[TargetColumn]) -> DataFrame:
    """The same; of a copy that keeps versions the latest of each key, where that is not marked; of one that keeps changes what these come to."""
    if keeps_changes(spec):
        return replayed(spec, rows)
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


def replayed(spec: TableSpec, rows: DataFrame) -> DataFrame:
    """The rows that there are once all changes were made: of each key the last one, if it was neither deleted nor there before the table was truncated."""
    from pyspark.sql import Window as Over
    from pyspark.sql import functions as sf

    from incremental_assets.adapters.spark.expressions import column

    place = sf.struct(column(COMMIT_LSN), column(CHANGE_NUMBER))
    # A truncation names no key: what it emptied is what came before it, of every key.
    emptied = rows.where(column(OP) == Op.TRUNCATED.value).agg(sf.max(place).alias(_EMPTIED))
    newest = Over.partitionBy(*(column(name) for name in spec.key)).orderBy(place.desc())
    last = rows.where(column(OP) != Op.TRUNCATED.value).withColumn(_NUMBER, sf.row_number().over(newest))
    last = last.where((sf.col(_NUMBER) == 1) & (column(OP) != Op.DELETED.value)).crossJoin(sf.broadcast(emptied))
    return last.where(sf.col(_EMPTIED).isNull() | (place > sf.col(_EMPTIED))).drop(_EMPTIED, _NUMBER)
