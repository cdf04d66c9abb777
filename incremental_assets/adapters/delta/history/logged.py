"""The versions that changes of a source's log add and end, as one query: every change that left a row another one than it was before is a version of it.

A version begins when its transaction was committed, by the source's clock, and in any case a microsecond behind the version before it: versions of one
transaction begin one microsecond after the other. A row that is gone has the values that it had last.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import Window as Over
from pyspark.sql import functions as sf

from incremental_assets.adapters.delta.history.newest_rows import newest_rows
from incremental_assets.adapters.delta.target_table import OWN_COLUMNS
from incremental_assets.adapters.spark.expressions import alike, all_of, column
from incremental_assets.adapters.spark.own_names import BATCH, IS_GONE, PLACE, SINCE, TARGET, own
from incremental_assets.core.model.change_columns import CHANGE_NUMBER, COMMIT_AT, COMMIT_LSN, tells_places
from incremental_assets.core.model.history import DELETED, IS_CURRENT, VALID_FROM, VALID_TO, History
from incremental_assets.core.model.schema_drift import sql_type

if TYPE_CHECKING:
    from incremental_assets.adapters.delta.history.table import Tables

_ROW, _HELD, _BEFORE, _WAS_GONE, _TURN = own("row"), own("held"), own("before"), own("was_gone"), own("turn")
_EARLIEST, _BEGINS, _ENDS, _NEW = own("earliest"), own("begins"), own("ends"), own("new")


def logged(session: SparkSession, of: Tables, marks: tuple[Column, ...]) -> DataFrame:
    """Rows to put into the history, as `versions.changed` gives them."""
    in_turn = Over.partitionBy(*(column(name) for name in of.spec.key)).orderBy(PLACE)
    pairs = _beside_versions(session, of)
    earlier = in_turn.rowsBetween(Over.unboundedPreceding, -1)
    there = sf.last(sf.when(~column(IS_GONE), column(_ROW)), ignorenulls=True).over(earlier)
    pairs = pairs.withColumn(_BEFORE, sf.coalesce(there, _values(column(_HELD), of)))
    known = column(_HELD).getField(DELETED)
    pairs = pairs.withColumn(_WAS_GONE, sf.coalesce(sf.lag(IS_GONE).over(in_turn), known, sf.expr("true")))
    rows = pairs.where(sf.when(column(IS_GONE), ~column(_WAS_GONE)).otherwise(column(_WAS_GONE) | ~_is_same(of)))
    if of.spec.history is not History.SCD2:
        return rows.select(_came(of, marks).alias(_NEW)).select(f"{_NEW}.*")
    rows = rows.withColumn(_TURN, sf.row_number().over(in_turn) - 1)
    is_first, begun = column(_TURN) == 0, sf.unix_micros(column(_HELD).getField(VALID_FROM))
    since = sf.unix_micros(column(SINCE))
    first = sf.greatest(since, sf.coalesce(begun + 1, since))
    rows = rows.withColumn(_EARLIEST, sf.when(is_first, first).otherwise(since) - column(_TURN))
    upto = in_turn.rowsBetween(Over.unboundedPreceding, 0)
    rows = rows.withColumn(_BEGINS, sf.timestamp_micros(sf.max(_EARLIEST).over(upto) + column(_TURN)))
    rows = rows.withColumn(_ENDS, sf.lead(_BEGINS).over(in_turn))
    ends = sf.when(is_first & column(_HELD).isNotNull(), sf.array(_ended(of), _came(of, marks)))
    return rows.select(sf.explode(ends.otherwise(sf.array(_came(of, marks)))).alias(_NEW)).select(f"{_NEW}.*")


def _beside_versions(session: SparkSession, of: Tables) -> DataFrame:
    """The changes, each beside the newest version that the history has of its key."""
    seen = _seen(session, of)
    newest = newest_rows(session, of, seen)
    names = newest.columns
    held = sf.struct(*(column(name) for name in names)).alias(_HELD)
    newest = newest.select(*(column(name) for name in of.spec.key), held)
    same = all_of(column(name, BATCH).eqNullSafe(column(name, TARGET)) for name in of.spec.key)
    pairs = seen.alias(BATCH).join(newest.alias(TARGET), on=same, how="left")
    return pairs.select(*(column(name, BATCH) for name in seen.columns), column(_HELD, TARGET))


def _seen(session: SparkSession, of: Tables) -> DataFrame:
    """Changes with their keys, and all of their values in one structure."""
    rows = session.read.parquet(str(of.changes))
    places = {each.name.lower(): f"c{place}" for place, each in enumerate(of.spec.columns)}
    values = {
        each.name: column(places[each.name.lower()]) if each.name.lower() in places else sf.lit(None)
        for each in of.columns
    }
    typed = {name: values[name].cast(sql_type(kind)) for name, kind in ((each.name, each.type) for each in of.columns)}
    keys = [typed[each.name].alias(each.name) for each in of.columns if each.name in of.spec.key]
    row = sf.struct(*(value.alias(name) for name, value in typed.items())).alias(_ROW)
    own_columns = (PLACE, SINCE, IS_GONE, COMMIT_LSN, CHANGE_NUMBER)
    return rows.select(*keys, row, *(column(name) for name in own_columns))


def _values(held: Column, of: Tables) -> Column:
    return sf.when(held.isNotNull(), sf.struct(*(held.getField(each.name).alias(each.name) for each in of.columns)))


def _is_same(of: Tables) -> Column:
    names = {name.lower() for name in of.spec.key}
    besides = [each for each in of.columns if each.name.lower() not in names]
    pairs = [
        (column(_ROW).getField(each.name), column(_BEFORE).getField(each.name), sql_type(each.type)) for each in besides
    ]
    return alike(pairs) if pairs else sf.expr("true")


def _came(of: Tables, marks: Sequence[Column]) -> Column:
    """A new version; of a row that is gone with the values that it had last."""
    gone = column(IS_GONE)
    row = sf.when(gone, column(_BEFORE)).otherwise(column(_ROW))
    values = [row.getField(each.name).alias(each.name) for each in of.columns]
    if of.spec.history is History.SCD2:
        current = column(_ENDS).isNull() & ~gone
        values += [column(_BEGINS).alias(VALID_FROM), column(_ENDS).alias(VALID_TO), current.alias(IS_CURRENT)]
    values += [gone.alias(DELETED), *marks]
    if tells_places(of.spec):
        values += [column(COMMIT_LSN), column(CHANGE_NUMBER), column(SINCE).alias(COMMIT_AT)]
    return sf.struct(*values)


def _ended(of: Tables) -> Column:
    """The newest version so far, which ends. It keeps the run and the sequence that brought it."""
    changes = {VALID_TO: column(_BEGINS), IS_CURRENT: sf.expr("false")}
    own_columns = (DELETED, *(name for name, _ in OWN_COLUMNS))
    names = (*(each.name for each in of.columns), VALID_FROM, VALID_TO, IS_CURRENT, *own_columns)
    return sf.struct(*(changes.get(name, column(_HELD).getField(name)).alias(name) for name in names))
