"""The versions that one step of a history adds and ends, as one query over the copy and the history as they are.

A version begins at its row's own time, or where that is not after the begin of the version before it, at the time of the snapshot: then the row has changed
without its cursor, or with an older one, and more is not known. Each version but the newest ends where the next one begins. So the versions of
a key follow each other in the order in which syncs saw them, without overlap or gap, whatever the stamps say.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf

from incremental_assets.adapters.delta.history.newest_rows import newest_rows
from incremental_assets.adapters.delta.history.table import Tables
from incremental_assets.adapters.delta.live import marks_deletes
from incremental_assets.adapters.delta.target_table import OWN_COLUMNS
from incremental_assets.adapters.spark.expressions import alike, all_of, column, cursor_column
from incremental_assets.adapters.spark.own_names import BATCH, DELETED_AT, SEQ, TARGET, own
from incremental_assets.core.model.change_columns import CHANGE_NUMBER, COMMIT_AT, COMMIT_LSN, tells_places
from incremental_assets.core.model.cursor import CursorType
from incremental_assets.core.model.history import DELETED, IS_CURRENT, VALID_FROM, VALID_TO, History, Step
from incremental_assets.core.model.schema_drift import TargetColumn, sql_type
from incremental_assets.core.model.table import TableSpec

_BEGINS, _IS_GONE, _THERE, _NEW = own("begins"), own("gone"), own("there"), own("new")


def changed(session: SparkSession, of: Tables, step: Step, marks: tuple[Column, ...]) -> DataFrame:
    """Rows to put into the history: new versions with these `marks` of our own, and those that they end, again and with their end."""
    seen = _seen(session, of, step)
    newest = newest_rows(session, of, None if step.whole else seen).withColumn(_THERE, sf.expr("true"))
    by_key = all_of(column(name, BATCH).eqNullSafe(column(name, TARGET)) for name in of.spec.key)
    pairs = seen.alias(BATCH).join(newest.alias(TARGET), on=by_key, how="full_outer" if step.whole else "left")
    # A key of which the copy has no row is gone.
    gone, known = sf.coalesce(column(_IS_GONE, BATCH), sf.expr("true")), column(_THERE, TARGET).isNotNull()
    is_new = ~known | (column(DELETED, TARGET) != gone) | (~gone & ~_is_same(of))
    came, rows = _came(of, step, gone, marks), pairs.where(is_new)
    if of.spec.history is not History.SCD2:
        return rows.select(came.alias(_NEW)).select(f"{_NEW}.*")
    both = sf.when(known, sf.array(_ended(of, step), came)).otherwise(sf.array(came))
    return rows.select(sf.explode(both).alias(_NEW)).select(f"{_NEW}.*")


def _came(of: Tables, step: Step, gone: Column, marks: tuple[Column, ...]) -> Column:
    """A new version, with the copy's values; of a row that is not there with those that it had last."""
    is_there = column(_THERE, BATCH).isNotNull()
    values = [
        sf.when(is_there, column(each.name, BATCH)).otherwise(column(each.name, TARGET)).alias(each.name)
        for each in of.columns
    ]
    if of.spec.history is History.SCD2:
        never = sf.lit(None).cast("timestamp").alias(VALID_TO)
        values += [_begins(step).alias(VALID_FROM), never, (~gone).alias(IS_CURRENT)]
    if tells_places(of.spec):
        place = (sf.lit(of.read_to).cast("bigint"), sf.lit(0).cast("bigint"), _clock(step))
        names = (COMMIT_LSN, CHANGE_NUMBER, COMMIT_AT)
        values += [value.alias(name) for name, value in zip(names, place, strict=True)]
    return sf.struct(*values, gone.alias(DELETED), *marks)


def _ended(of: Tables, step: Step) -> Column:
    """The newest version so far, which ends. It keeps the run and the sequence that brought it."""
    changes = {VALID_TO: _begins(step), IS_CURRENT: sf.expr("false")}
    own_columns = (DELETED, *(name for name, _ in OWN_COLUMNS))
    names = (*(each.name for each in of.columns), VALID_FROM, VALID_TO, IS_CURRENT, *own_columns)
    return sf.struct(*(changes.get(name, column(name, TARGET)).alias(name) for name in names))


def _is_same(of: Tables) -> Column:
    """Whether both have the same row."""
    pairs = [
        (column(each.name, BATCH), column(each.name, TARGET), sql_type(each.type))
        for each in _besides(of.spec.key, of.columns)
    ]
    return alike(pairs) if pairs else sf.expr("true")


def _besides(key: Sequence[str], columns: Sequence[TargetColumn]) -> list[TargetColumn]:
    names = {name.lower() for name in key}
    return [each for each in columns if each.name.lower() not in names]


def _begins(step: Step) -> Column:
    """When a version begins: at the time that the row tells, at the latest at the snapshot, and in any case after the begin of the version before it."""
    clock, before = _clock(step), column(VALID_FROM, TARGET)
    stamp = sf.least(sf.coalesce(column(_BEGINS, BATCH), clock), clock)
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
    if spec.cursor_type in (None, CursorType.INTEGER):
        return sf.lit(None).cast("timestamp")
    stamp = cursor_column(spec).cast("timestamp")
    return stamp if spec.cursor_type is CursorType.TIMESTAMP else sf.to_utc_timestamp(stamp, step.zone)
