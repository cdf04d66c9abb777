"""What a task is given for one landing: which columns, which files, what is compared."""

from __future__ import annotations

from incremental_assets.adapters.delta.live import marks_deletes
from incremental_assets.adapters.delta.log import vectors
from incremental_assets.adapters.delta.log.log_state import LogState
from incremental_assets.adapters.delta.tasks.files.columns import Columns
from incremental_assets.adapters.delta.tasks.files.skipping import Reach, file_may_hold, ordinal
from incremental_assets.adapters.delta.tasks.files.unit import Adding, ApplyUnit, Overwriting, Replacing, Stored
from incremental_assets.adapters.delta.writers.choice import Way
from incremental_assets.adapters.delta.writers.landing import Landing
from incremental_assets.adapters.spark.not_by_tasks import NotByTasks
from incremental_assets.core.landing.overlap import eras
from incremental_assets.core.model.column import WHOLE
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.table import TableSpec

_CURSORS = {CursorType.DATE: ("date",), CursorType.DATETIME: ("timestamp_ntz",), CursorType.TIMESTAMP: ("timestamp",)}


def unit_of(landing: Landing, way: Way, state: LogState) -> ApplyUnit:
    """The task's. Raises NotByTasks where that is more than one task takes, or where columns came after rows that are compared."""
    plan, table = landing.plan, Columns.of(state)
    columns = tuple(table.stored(each.name, each.spark_type) for each in plan.spec.columns)
    marks = table.marks(plan.request.run_id, plan.commit_ids.seq)
    how, within = _how(landing, way, columns)
    if way is Way.REWRITE and len(table.fields) > len(columns) + len(marks.stored):
        raise NotByTasks("rows that stay have columns of another writer")
    files = tuple(add for add in state.files.values() if file_may_hold(add.get("stats"), within))
    if isinstance(how, Adding) and not how.compares:
        files = ()
    kept = table.statistics(state.properties)
    replaces = isinstance(how, Replacing) and not how.whole
    return ApplyUnit(
        table=landing.path,
        staged=landing.staged,
        columns=columns,
        marks=marks,
        how=how,
        files=files,
        statistics=tuple(each.name for each in (*columns, *marks.stored) if each.name in kept),
        within=within,
        anew=table.all() if replaces and not vectors.marks_rows(state.properties) else (),
    )


def _how(
    landing: Landing, way: Way, columns: tuple[Stored, ...]
) -> tuple[Replacing | Adding | Overwriting, tuple[Reach, ...]]:
    """How rows land, and where the rows of the target lie that are concerned."""
    plan, overlap = landing.plan, landing.present.overlap
    if way is Way.OVERWRITE:
        return Overwriting(), ()
    key = tuple(plan.spec.shape.names.index(name) for name in plan.spec.key)
    if way is Way.APPEND:
        if marks_deletes(landing.present.columns) and not plan.reading.has_new_keys:
            raise NotByTasks("a version that is marked as gone equals none")
        if overlap is None:
            return Adding(compares=False), ()
        found = eras(plan, overlap, landing.present.columns)
        if len(found) != 1 or len(found[0].columns) != len(columns):
            raise NotByTasks("columns came after rows that it is compared with")
        lowest = _lowest(plan.spec, overlap.lower, columns)
        return Adding(compares=True, version_key=key if plan.spec.key_enforced else ()), lowest
    cursor = next((plan.spec.shape.names.index(name) for name in plan.spec.cursor_columns), None)
    leaves = way is Way.MERGE
    flagged_at = ordinal(plan.reading.clock) if leaves and plan.spec.deletes.marks else None
    how = Replacing(key, overlap is not None, leaves, whole=way is Way.REWRITE, cursor=cursor, flagged_at=flagged_at)
    if way is not Way.REPLACE:
        # Nothing is known beforehand of keys that leave, and rows that stay are anywhere.
        return how, ()
    ranges = {each.column: each for each in landing.delivery.batch.keys}
    stored = [(columns[place], ranges.get(name)) for place, name in zip(key, plan.spec.key, strict=True)]
    within = tuple(Reach(column.name, column.type, of.lowest, of.highest) for column, of in stored if of is not None)
    return how, within


def _lowest(spec: TableSpec, lower: CursorValue | None, columns: tuple[Stored, ...]) -> tuple[Reach, ...]:
    """The reach of the rows that are compared, from the lowest cursor on; empty, so that all are compared, where that is no number by which statistics order the column."""
    if lower is None or len(spec.cursor_columns) != 1:
        return ()
    column, found = columns[spec.shape.names.index(*spec.cursor_columns)], whole(lower)
    return (
        ()
        if found is None or column.type not in cursor_types(lower.type)
        else (Reach(column.name, column.type, found),)
    )


def cursor_types(kind: CursorType) -> tuple[str, ...]:
    """The types of columns whose values are ordered as whole numbers, as a sync orders such a cursor."""
    return _CURSORS.get(kind, WHOLE)


def whole(value: CursorValue) -> int | None:
    """A cursor's value as such a number; None where it is none that Python has."""
    if not value.is_finite:
        return None
    try:
        if value.type is CursorType.INTEGER:
            return int(value.text)
        moment = value.moment()
        return ordinal(moment.date() if value.type is CursorType.DATE else moment)
    except (ValueError, OverflowError):
        return None
