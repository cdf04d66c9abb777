"""The versions that one step of a history adds and ends, as one query over the copy and the history as they are.

A version begins at its row's own time, or where that is not after the begin of the version before it, at the time of the snapshot: then the row has changed
without its cursor, or with an older one, and more is not known. Each version but the newest ends where the next one begins. So the versions of
a key follow each other in the order in which syncs saw them, without overlap or gap, whatever the stamps say.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import Window as Over
from pyspark.sql import functions as sf

from incremental_assets.adapters.delta.history.table import Tables
from incremental_assets.adapters.delta.live import marks_deletes
from incremental_assets.adapters.delta.target_table import OWN_COLUMNS
from incremental_assets.adapters.spark.expressions import alike, all_of, column, cursor_column
from incremental_assets.adapters.spark.own_names import BATCH, COPY, DELETED_AT, SEQ, TARGET, own
from incremental_assets.core.model.cursor import CursorType
from incremental_assets.core.model.history import DELETED, IS_CURRENT, VALID_FROM, VALID_TO, History, Step
from incremental_assets.core.model.schema_drift import TargetColumn, sql_type
from incremental_assets.core.model.table import TableSpec

_BEGINS, _IS_GONE, _THERE, _ENDED, _NEW = own("begins"), own("gone"), own("there"), own("ended"), own("new")


def changed(session: SparkSession, of: Tables, step: Step, marks: tuple[Column, ...]) -> DataFrame:
    """Rows to put into the history: new versions with these `marks` of our own, and those that they end, again and with their end."""
    spec, keeps_validity = of.spec, of.spec.history is History.SCD2
    seen = _seen(session, of, step)
    newest = _newest(session, of, seen, step)
    by_key = all_of(column(name, BATCH).eqNullSafe(column(name, TARGET)) for name in spec.key)
    pairs = seen.alias(BATCH).join(newest.alias(TARGET), on=by_key, how="full_outer" if step.whole else "left")
    gone, known = sf.coalesce(column(_IS_GONE, BATCH), sf.expr("true")), column(_THERE, TARGET).isNotNull()
    others = _besides(spec.key, of.columns)
    is_same = (
        alike([(column(each.name, BATCH), column(each.name, TARGET), sql_type(each.type)) for each in others])
        if others
        else sf.expr("true")
    )
    is_new = ~known | (column(DELETED, TARGET) != gone) | (~gone & ~is_same)
    begins = _begins(step, column(_BEGINS, BATCH), column(VALID_FROM, TARGET)) if keeps_validity else sf.lit(None)
    own_columns = tuple(name for name, _ in OWN_COLUMNS)
    there = [
        sf.when(column(_THERE, BATCH).isNotNull(), column(each.name, BATCH))
        .otherwise(column(each.name, TARGET))
        .alias(each.name)
        for each in of.columns
    ]
    validity = [begins.alias(VALID_FROM), sf.lit(None).cast("timestamp").alias(VALID_TO), (~gone).alias(IS_CURRENT)]
    came = sf.struct(*there, *(validity if keeps_validity else ()), gone.alias(DELETED), *marks)
    if not keeps_validity:
        return pairs.where(is_new).select(came.alias(_NEW)).select(f"{_NEW}.*")
    over = [column(VALID_FROM, TARGET).alias(VALID_FROM), begins.alias(VALID_TO), sf.expr("false").alias(IS_CURRENT)]
    kept = [column(name, TARGET).alias(name) for name in (DELETED, *own_columns)]
    ended = sf.struct(*(column(each.name, TARGET).alias(each.name) for each in of.columns), *over, *kept)
    both = sf.when(known, sf.array(ended, came)).otherwise(sf.array(came))
    return pairs.where(is_new).select(sf.explode(both).alias(_NEW)).select(f"{_NEW}.*")


def _besides(key: Sequence[str], columns: Sequence[TargetColumn]) -> list[TargetColumn]:
    names = {name.lower() for name in key}
    return [each for each in columns if each.name.lower() not in names]


def _begins(step: Step, told: Column, before: Column) -> Column:
    """`told`: by the row, at the latest at the snapshot; `before`: the begin of the version before it."""
    clock = _clock(step)
    stamp = sf.least(sf.coalesce(told, clock), clock)
    later = sf.greatest(clock, before + sf.expr("INTERVAL 1 MICROSECOND"))
    return sf.when(before.isNull() | (stamp > before), stamp).otherwise(later)


def _clock(step: Step) -> Column:
    return sf.lit(step.clock.isoformat()).cast("timestamp")


def _seen(session: SparkSession, of: Tables, step: Step) -> DataFrame:
    """Rows of the copy that the step is about, with the time that they tell, and whether they say that they are gone."""
    rows = session.read.format("delta").option("versionAsOf", step.version).load(of.copy_path)
    if not step.whole:
        rows = rows.where(sf.col(SEQ) == step.seq)
    marks = marks_deletes(of.copy.columns())
    gone = column(DELETED_AT).isNotNull() if marks else sf.expr("false")
    told = _told(of.spec, step)
    begins = sf.when(gone, column(DELETED_AT)).otherwise(told) if marks else told
    kept = [column(each.name) for each in of.columns]
    return rows.select(*kept, gone.alias(_IS_GONE), begins.alias(_BEGINS), sf.expr("true").alias(_THERE))


def _told(spec: TableSpec, step: Step) -> Column:
    """When a row says that it was changed; NULL where it does not."""
    if spec.cursor is None or spec.cursor.type is CursorType.INTEGER:
        return sf.lit(None).cast("timestamp")
    stamp = cursor_column(spec).cast("timestamp")
    return stamp if spec.cursor.type is CursorType.TIMESTAMP else sf.to_utc_timestamp(stamp, step.zone)


def _newest(session: SparkSession, of: Tables, seen: DataFrame, step: Step) -> DataFrame:
    """The newest version of each key that the step is about, whatever it says."""
    rows = session.read.format("delta").load(of.path).withColumn(_THERE, sf.expr("true"))
    if of.spec.history is History.SCD2:
        return rows.where(column(VALID_TO).isNull())
    if not step.whole:
        same = all_of(column(name, TARGET).eqNullSafe(column(name, BATCH)) for name in of.spec.key)
        rows = rows.alias(TARGET).join(seen.alias(BATCH), on=same, how="left_semi")
    by_key = Over.partitionBy(*(column(name) for name in of.spec.key)).orderBy(sf.col(SEQ).desc())
    return rows.withColumn(COPY, sf.row_number().over(by_key)).where(sf.col(COPY) == 1).drop(COPY)
