"""Deduplication: which staged rows are written, as one query. Inside it, without an extra job, those are dropped that the copy holds already, and where keys repeat within a batch all but one row of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as sf

from incremental_assets.adapters.delta.live import live, standing
from incremental_assets.adapters.spark.expressions import (
    alike,
    all_of,
    column,
    comparable,
    cursor_column,
    from_on,
    spark_value,
)
from incremental_assets.adapters.spark.own_names import (
    AT,
    BATCH,
    COPY,
    DELETED_AT,
    LATE,
    OPERATION,
    REJECT_REASON,
    RUN_ID,
    SEQ,
    TARGET,
    key_part,
)
from incremental_assets.adapters.spark.staged import read_staged
from incremental_assets.core.landing.overlap import Era, Overlap, eras
from incremental_assets.core.model.batch import Operation
from incremental_assets.core.model.schema_drift import OWN_PREFIX, TargetColumn
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.planning.plan import SyncPlan


@dataclass(frozen=True, slots=True)
class Present:
    """The target as a batch meets it: where it lies, its columns, and what of it can equal staged rows."""

    path: str
    columns: tuple[TargetColumn, ...]
    overlap: Overlap | None


def landable(session: SparkSession, path: str, spec: TableSpec, *, repeated: bool) -> DataFrame:
    """Staged rows to put, under the source's names, with the late flag; one per key where keys repeat."""
    rows = read_staged(session, path, spec).where(column(OPERATION) == Operation.PUT.value)
    rows = rows.select(*(column(name) for name in spec.shape.names), column(LATE))
    return _largest_of_each_key(spec, rows) if repeated else rows


def new_versions(session: SparkSession, plan: SyncPlan, rows: DataFrame, present: Present) -> DataFrame:
    """The rows of an append that the target does not hold yet; all of them where there is nothing to compare with.

    Era by era, the newest first, as its rows are compared by the most columns. A row that one era holds is not compared with older ones.
    """
    if present.overlap is None:
        return rows
    reachable = _reachable(plan, session.read.format("delta").load(present.path), present)
    for era in eras(plan, present.overlap, present.columns):
        there = _newest(plan.spec, reachable) if _tells_versions(plan.spec, era) else reachable
        # A version that is marked as gone equals none: its key comes back to life.
        there = live(there, present.columns)
        rows = _subtract(plan.spec, rows, _landed_in(era, there), era.columns)
    return rows


def changed_rows(session: SparkSession, plan: SyncPlan, rows: DataFrame, present: Present) -> DataFrame:
    """The rows of an upsert that the target does not hold as they are, with its values of columns that the source has dropped.

    Of a key that only the configuration declares, without the rows for which the target may hold a newer one.
    """
    target = session.read.format("delta").load(present.path)
    # A row that is marked as gone is equal to none, and newer than none: its key comes back to life.
    living = live(target, present.columns)
    if present.overlap is not None:
        rows = _without_equal(plan, rows, living, present)
    if plan.spec.trusts_key and plan.spec.cursor_columns:
        rows = _without_older(plan, rows, living)
    return _with_dropped(plan.spec, rows, target, present)


def leaving(session: SparkSession, plan: SyncPlan, staged: str, path: str, *, unfit: bool = False) -> DataFrame:
    """Keys of the target's rows that a batch says are gone, under names of our own, one per row of the target.

    Not those of a key with which another row lands, or for which, where only the configuration declares it, the target may hold a newer one.
    `unfit`: of keys alone whose row is in quarantine.
    """
    spec, batch = plan.spec, read_staged(session, staged, plan.spec)
    lands, target = column(OPERATION) == Operation.PUT.value, session.read.format("delta").load(path)
    matches = all_of(column(name, BATCH).eqNullSafe(column(name, TARGET)) for name in spec.key)
    whole = all_of(column(name).isNotNull() for name in spec.key)
    goes = whole & (column(OPERATION) == Operation.GONE.value)
    goes = goes & column(REJECT_REASON).isNotNull() if unfit else goes
    gone = batch.where(goes).alias(BATCH).join(batch.where(lands).alias(TARGET), on=matches, how="left_anti")
    if spec.trusts_key and spec.cursor_columns:
        matches = matches & ~_may_be_newer(plan)
    found = target.alias(TARGET).join(gone.alias(BATCH), on=matches, how="left_semi")
    return found.select(*(column(name).alias(key_part(place)) for place, name in enumerate(spec.key)))


def marked(session: SparkSession, plan: SyncPlan, staged: str, present: Present) -> DataFrame:
    """Rows of the target that a batch says are gone, as they are to stand there from now on: with the time at which they were found so."""
    batch = read_staged(session, staged, plan.spec)
    lands = column(OPERATION) == Operation.PUT.value
    matches = all_of(column(name, BATCH).eqNullSafe(column(name, TARGET)) for name in plan.spec.key)
    gone = batch.where(~lands & column(REJECT_REASON).isNull())
    gone = gone.alias(BATCH).join(batch.where(lands).alias(TARGET), on=matches, how="left_anti")
    target = standing(plan.spec, session.read.format("delta").load(present.path), present.columns)
    found = target.alias(TARGET).join(gone.alias(BATCH), on=matches, how="left_semi")
    marks = {
        RUN_ID: sf.lit(plan.request.run_id),
        SEQ: sf.lit(plan.commit_ids.seq).cast("bigint"),
        AT: sf.lit(datetime.now(UTC).isoformat()).cast("timestamp"),
        DELETED_AT: sf.lit(plan.reading.clock.isoformat()).cast("timestamp"),
    }
    return found.withColumns(marks)


def with_others(session: SparkSession, spec: TableSpec, shaped: DataFrame, rows: DataFrame, path: str) -> DataFrame:
    """All that the target is to hold: the rows that land, in its shape, and those of its own whose key none of them has."""
    matches = all_of(column(name, TARGET).eqNullSafe(column(name, BATCH)) for name in spec.key)
    target = session.read.format("delta").load(path)
    others = target.alias(TARGET).join(rows.alias(BATCH), on=matches, how="left_anti")
    # Another writer may have added columns that begin as ours do.
    return shaped.unionByName(others, allowMissingColumns=True)


def _with_dropped(spec: TableSpec, rows: DataFrame, target: DataFrame, present: Present) -> DataFrame:
    """Whole rows are replaced, so the values of columns that the source has dropped are read from the target."""
    source = {found.name.lower() for found in spec.columns}
    dropped = [
        found.name
        for found in present.columns
        if found.name.lower() not in source and not found.name.startswith(OWN_PREFIX)
    ]
    if not dropped:
        return rows
    # Under names of our own: a dropped column may be called as the flag is.
    kept = target.select(
        *(column(name).alias(key_part(place)) for place, name in enumerate(spec.key)),
        *(column(name) for name in dropped),
    )
    keys = [key_part(place) for place in range(len(spec.key))]
    matches = all_of(
        column(name, BATCH).eqNullSafe(column(key, TARGET)) for name, key in zip(spec.key, keys, strict=True)
    )
    return rows.alias(BATCH).join(kept.dropDuplicates(keys).alias(TARGET), on=matches, how="left").drop(*keys)


def _largest_of_each_key(spec: TableSpec, rows: DataFrame) -> DataFrame:
    others = [column(name).desc_nulls_last() for name in spec.shape.names if name not in spec.key]
    order = [cursor_column(spec).desc_nulls_last(), *others] if spec.cursor_columns else others
    by_key = Window.partitionBy(*(column(name) for name in spec.key)).orderBy(*(order or [sf.lit(1)]))
    numbered = rows.withColumn(COPY, sf.row_number().over(by_key))
    return numbered.where(sf.col(COPY) == 1).drop(COPY)


def _without_equal(plan: SyncPlan, rows: DataFrame, target: DataFrame, present: Present) -> DataFrame:
    """A row that the target holds with every column equal need not be written. A column that is only now coming is NULL there."""
    spec = plan.spec
    there = {found.name.lower() for found in present.columns}
    equal = alike(
        [
            (
                column(found.name, BATCH),
                column(found.name, TARGET) if found.name.lower() in there else sf.lit(None).cast(found.spark_type),
                found.spark_type,
            )
            for found in spec.columns
        ]
    )
    return rows.alias(BATCH).join(_reachable(plan, target, present).alias(TARGET), on=equal, how="left_anti")


def _without_older(plan: SyncPlan, rows: DataFrame, target: DataFrame) -> DataFrame:
    matches = all_of(column(name, BATCH).eqNullSafe(column(name, TARGET)) for name in plan.spec.key)
    return rows.alias(BATCH).join(target.alias(TARGET), on=matches & _may_be_newer(plan), how="left_anti")


def _may_be_newer(plan: SyncPlan) -> Column:
    """Whether the target's row may stand for a row of the source that this snapshot was not read for, and whose cursor is larger.

    A key that only the configuration declares may repeat, and then the largest cursor decides. What lies in the window and is not in the
    batch is no more: the row has been updated since, and by a transaction that began earlier its cursor got smaller.
    """
    ours, theirs = cursor_column(plan.spec, BATCH), cursor_column(plan.spec, TARGET)
    lower, upper = (
        spark_value(end) if end is not None else None for end in (plan.reading.window.lower, plan.reading.window.upper)
    )
    within = sf.lit(True)  # noqa: FBT003
    if lower is not None:
        within = within & (theirs >= lower)
    if upper is not None:
        within = within & (theirs < upper)
    larger = ours.isNotNull() & theirs.isNotNull() & (theirs > ours)
    return larger & ~within


def _tells_versions(spec: TableSpec, era: Era) -> bool:
    """Whether rows of an era are identified as versions of one row: by a key that the source enforces, and that existed then."""
    there = {name.lower() for name in era.columns}
    return bool(spec.key) and spec.key_enforced and all(name.lower() in there for name in spec.key)


def _newest(spec: TableSpec, target: DataFrame) -> DataFrame:
    """The version of each key that landed last: older ones are not compared, as a row that goes back to an earlier state is a new version."""
    types = {found.name: found.spark_type for found in spec.columns}
    by_key = Window.partitionBy(*(comparable(column(name), types[name]) for name in spec.key)).orderBy(
        sf.col(SEQ).desc()
    )
    return target.withColumn(COPY, sf.row_number().over(by_key)).where(sf.col(COPY) == 1).drop(COPY)


def _subtract(spec: TableSpec, rows: DataFrame, there: DataFrame, names: Sequence[str]) -> DataFrame:
    """The multiset difference over some columns; an enforced key makes every row of a snapshot the only one of its kind."""
    types = {found.name.lower(): found.spark_type for found in spec.columns}
    equal = alike([(column(name, BATCH), column(name, TARGET), types[name.lower()]) for name in names])
    if spec.key and spec.key_enforced:
        return rows.alias(BATCH).join(there.alias(TARGET), on=equal, how="left_anti")
    # By the same equality: rows that differ there are not numbered together here.
    copies = Window.partitionBy(*(comparable(column(name), types[name.lower()]) for name in names)).orderBy(sf.lit(1))
    ours, theirs = (frame.withColumn(COPY, sf.row_number().over(copies)) for frame in (rows, there))
    numbered = equal & (column(COPY, BATCH) == column(COPY, TARGET))
    return ours.alias(BATCH).join(theirs.alias(TARGET), on=numbered, how="left_anti").drop(COPY)


def _reachable(plan: SyncPlan, target: DataFrame, present: Present) -> DataFrame:
    """The rows of the target that can equal one of the batch: without a cursor, or from the batch's lowest cursor on; all where that is not known."""
    lower = present.overlap.lower if present.overlap else None
    condition = from_on(plan.spec, lower) if lower is not None else None
    return target if condition is None else target.where(condition)


def _landed_in(era: Era, target: DataFrame) -> DataFrame:
    if era.first is not None:
        target = target.where(sf.col(SEQ) >= era.first)
    return target if era.end is None else target.where(sf.col(SEQ) < era.end)
