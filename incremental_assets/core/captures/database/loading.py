"""A first load of a large table, range by range of its key, each from a snapshot of its own. Pure.

What is promised of it is what the first look promised: whatever is committed after that look is stamped at or above its watermark, and so
read by the sync that follows the load, in whichever range it lies. The watermark, and all that belongs to it, is therefore that of the first
look, and no part of the load moves it on.
"""

from __future__ import annotations

from dataclasses import replace

from incremental_assets.core.captures.database.position import DatabasePosition, Loading, position_of
from incremental_assets.core.captures.database.reading import DatabaseReading
from incremental_assets.core.model.column import WHOLE
from incremental_assets.core.model.key_range import KeyRange
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.planning.plan import Mode, Request, SyncPlan

RANGE_BYTES = 2**30
"""About how much of the source one range has: its snapshot is held for as long as that takes, and a run that dies reads so much again."""
WORTH_IT = 4 * RANGE_BYTES
"""A smaller table is read in one snapshot, which takes some minutes."""
UNDER_WAY = "its first load has not ended"
_UNCOLLATED = (*WHOLE, "date", "timestamp", "timestamp_ntz")
_UUID = "uuid"


def is_large(spec: TableSpec) -> bool:
    """Whether the table has so many bytes in the source that its first load goes range by range, if its key lets it."""
    return spec.shape.bytes >= WORTH_IT


def rows_of_range(spec: TableSpec, request: Request, state: State | None) -> int | None:
    """How many rows the next range of a first load has; None where a table is not loaded so.

    The order of a key must be the same at each look. That of texts follows a collation, which may be another one after an upgrade.
    """
    loading = loading_of(state)
    begins = state is None and is_large(spec) and spec.shape.rows > 0 and not spec.capture
    goes_on = loading is not None and loading.key == spec.key
    if request.mode is not Mode.SYNC or spec.read_by is None or not (begins or goes_on):
        return None
    ordered = spec.key and spec.key_enforced and not spec.collation_key
    if not ordered or not all(_has_own_order(spec, name) for name in spec.key):
        return None
    return max(1, round(spec.shape.rows * RANGE_BYTES / max(1, spec.shape.bytes)))


def _has_own_order(spec: TableSpec, name: str) -> bool:
    """Values of a key are kept until the load has ended; those that nobody may see are not."""
    column = next(each for each in spec.columns if each.name == name)
    kind = column.spark_type in _UNCOLLATED or column.spark_type.startswith("decimal") or column.source_type == _UUID
    return kind and name not in (*spec.pii, *(each.name for each in spec.masks))


def loading_of(state: State | None) -> Loading | None:
    """How far a first load has come that has not ended; None where there is none."""
    found = state.position if state else None
    return found.loading if isinstance(found, DatabasePosition) else None


def went_on(state: State | None) -> State | None:
    """The state as a sync meets it that goes on with a load: with what the first look left."""
    loading = loading_of(state)
    if state is None or loading is None:
        return state
    # What a backfill has landed meanwhile counts.
    read = state.position.max_cursor_read
    position = replace(loading.then, max_cursor_read=read, loading=loading)
    return replace(state, position=position, clock=loading.clock)


def kept(state: State) -> State:
    """The state as it is kept while a load goes on: nothing of the table is known to have been read, so that any other run, also one of an earlier release, takes it for one that was never synced."""
    loading = loading_of(state)
    if loading is None:
        return state
    then = replace(position_of(state), loading=None)
    known = DatabasePosition(max_cursor_read=then.max_cursor_read, loading=replace(loading, then=then))
    return replace(state, position=known, clock=None)


def of_load(request: Request, state: State | None, reading: DatabaseReading, key: tuple[str, ...]) -> DatabaseReading:
    """The reading of a part of a first load: the ranges that are asked for, or all that is left of it; any other as it is."""
    loading = loading_of(state)
    if request.mode is not Mode.SYNC or not (loading or (request.ranges and state is None)):
        return reading
    ranges, alone = request.ranges, loading is None or loading.alone
    if loading is not None and loading.key != key:
        # A place in the order of another key says nothing: all is read, and compared with what has landed.
        ranges, alone = (KeyRange(),), False
    elif loading is not None and (not ranges or ranges[0].after != loading.after):
        ranges = (KeyRange(loading.after),)
    return replace(
        reading,
        ranges=ranges,
        alone=alone,
        finds_gone=False,
        deletes_due=None,
        late_below=None,
    )


def after_part(plan: SyncPlan, reading: DatabaseReading, position: DatabasePosition, rows: int) -> DatabasePosition:
    """The position once a part of a load has landed. `position`: that of a sync which had read all of the window from one snapshot."""
    before = position_of(plan.previous)
    then = _first(position) if before.loading is None else _further(reading, before, position)
    upto = reading.ranges[-1].upto
    if upto is None:
        return then
    so_far, clock = (0, reading.clock) if before.loading is None else (before.loading.rows, before.loading.clock)
    alone = before.loading is None or before.loading.alone
    return replace(then, loading=Loading(plan.spec.key, upto, clock, so_far + rows, DatabasePosition(), alone))


def _first(position: DatabasePosition) -> DatabasePosition:
    """No later look may rely on a snapshot of which some rows alone were read."""
    return replace(position, fingerprint=None, last_read=None)


def _further(reading: DatabaseReading, before: DatabasePosition, now: DatabasePosition) -> DatabasePosition:
    """What the first look left, but for what a clock that was put back takes from it, and for what was read."""
    due = [value for value in (before.due, now.due) if value is not None]
    return replace(
        before.lowered(reading.new_watermark),
        max_cursor_read=now.max_cursor_read,
        due=min(due, default=None),
        reading=now.reading,
        put_back=now.put_back,
        loading=None,
    )
