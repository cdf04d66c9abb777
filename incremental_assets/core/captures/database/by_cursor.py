"""What one sync of a table with a cursor reads, and where its watermark goes."""

from __future__ import annotations

from dataclasses import replace

from incremental_assets.core.captures.database.altered import compared_if_altered
from incremental_assets.core.captures.database.bound import Bound
from incremental_assets.core.captures.database.clock_steps import put_back
from incremental_assets.core.captures.database.comparing import compares_keys, deletes_due
from incremental_assets.core.captures.database.loading import of_load
from incremental_assets.core.captures.database.local_readings import highest_reading, zone_of
from incremental_assets.core.captures.database.observation import DatabaseObservation
from incremental_assets.core.captures.database.parts import changed_parts
from incremental_assets.core.captures.database.position import DatabasePosition, position_of
from incremental_assets.core.captures.database.preflight import (
    clock_went_back,
    columns_returned,
    highest_fell,
    identity_hidden,
    latest_fell,
    never_read,
    start_ahead,
    timeline_turned,
)
from incremental_assets.core.captures.database.reading import DatabaseReading
from incremental_assets.core.captures.database.settled_bound import (
    held_at,
    settle,
    still_settled,
    within_drawn,
)
from incremental_assets.core.captures.database.stamps import declared, of_stamps, stamps_warning
from incremental_assets.core.captures.database.updates import updates_warning
from incremental_assets.core.captures.database.windows import lower_end, reading
from incremental_assets.core.captures.database.zones import zones_of
from incremental_assets.core.model.cursor import CursorValue
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import TableSpec, cursor_of
from incremental_assets.core.planning.discarding import discarded_warning
from incremental_assets.core.planning.plan import CommitIds, Mode, Request, SyncPlan


def plan_by_cursor(
    spec: TableSpec, request: Request, state: State | None, commit_ids: CommitIds, observation: DatabaseObservation
) -> SyncPlan:
    """The plan of a table with a cursor: its rows from the watermark on, or those of the window that is asked for."""
    bound, cursor = observation.bound, cursor_of(spec)
    future = highest_reading(cursor, bound, bound.clock) if cursor.type.is_time else None
    known = _only_the_clock(state, bound) if request.mode is Mode.FULL_REFRESH else state
    settled = held_at(observation.uncommitted, settle(spec, cursor, bound, observation.highest, known))
    settled = within_drawn(spec, observation.highest, observation.drawn, settled)
    doubt = of_stamps(spec, zone_of(cursor, bound), bound.clock)
    window = reading(spec, request, state, observation)
    # What has not been read has not settled, even if the highest number has fallen since it was held back.
    settled = replace(settled, value=_at_most(settled.value, window.upper))
    previous = state.position.watermark if state else None
    stands = still_settled(spec, bound, known)
    if request.mode.reads_again:
        watermark = previous
    elif position_of(known).loading is not None:
        # What is held back of this range the sync behind the load has to read.
        watermark = _at_most(stands, window.upper)
    else:
        watermark = _reached(spec, stands, settled.value)
    warnings = (
        *timeline_turned(known, bound),
        *clock_went_back(spec, known, bound),
        *highest_fell(spec, known, observation.highest),
        *latest_fell(spec, known, observation.fingerprint),
        *identity_hidden(bound),
        *never_read(spec, known),
        *start_ahead(spec, window, future if cursor.type.is_time else observation.highest),
        *columns_returned(spec, known),
        *discarded_warning(spec, known),
        *changed_parts(known if request.mode is Mode.SYNC else None, observation.parts),
        *updates_warning(spec, state),
        *stamps_warning(spec, known, "" if bound.experimental else doubt),
    )
    found = DatabaseReading(
        window=window,
        finds_gone=(finds_gone := compares_keys(spec, request, state, bound)),
        deletes_due=None if finds_gone else deletes_due(spec, state),
        bound=bound,
        settled=settled,
        along=cursor,
        new_watermark=watermark,
        fingerprint_lower=lower_end(spec, watermark),
        late_below=_late_below(spec, request, state, bound),
        future_above=future,
        members=observation.parts.members if observation.parts else position_of(known).members if known else None,
        zones=zones_of(cursor, bound, position_of(known).zones if known else ()),
        put_back=put_back(known, bound),
        doubtful_stamps=doubt,
    )
    plan = SyncPlan(
        spec=spec,
        request=request,
        commit_ids=commit_ids,
        reading=of_load(request, known, found, spec.key),
        previous=state,
        warnings=warnings,
    )
    return compared_if_altered(plan, observation.highest)


def _only_the_clock(state: State | None, bound: Bound) -> State | None:
    """The state that a full refresh continues from: none, as an exchanged source may be before the old watermark, and has another clock."""
    kept, found = (state.identity if state else None), bound.identity
    if state is None or kept is None or found is None or not found.is_of(kept):
        return None
    position = position_of(state)
    clocks = DatabasePosition(reading=position.reading, put_back=position.put_back, updates=position.updates)
    return replace(state.forgotten(state.seq), identity=None, position=clocks)


def _at_most(value: CursorValue | None, limit: CursorValue | None) -> CursorValue | None:
    return value if value is None or limit is None else min(value, limit)


def _reached(spec: TableSpec, stands: CursorValue | None, settled: CursorValue | None) -> CursorValue | None:
    """The new watermark. It stays None until the source has settled up to `start`: nothing was read, and `start` may be a mistake."""
    if stands is None and settled is not None and spec.start is not None and settled < spec.start:
        return None
    return _later(stands, settled)


def _later(previous: CursorValue | None, settled: CursorValue | None) -> CursorValue | None:
    """The new watermark: never below what still is settled of the previous one. `settled` never passes the source's clock."""
    return max((value for value in (previous, settled) if value is not None), default=None)


def _late_below(spec: TableSpec, request: Request, state: State | None, bound: Bound) -> CursorValue | None:
    """How far an earlier sync had read: its highest row, but not past its clock, and at least its watermark.

    Stamps of an application may lag as long as it declares, and are late below the watermark, which stays that far behind.
    """
    if request.mode is not Mode.SYNC or state is None or state.clock is None or spec.cursor is None:
        return None
    if declared(spec) is not None:
        return state.position.watermark
    reached = state.position.max_cursor_read
    if reached is not None and spec.cursor.type.is_time:
        reached = min(reached, highest_reading(spec.cursor, bound, state.clock))
    return _later(state.position.watermark, reached)
