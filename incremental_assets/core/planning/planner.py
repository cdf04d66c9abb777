"""Decide what one sync reads and where its watermark goes: pure, from the configuration, the last state and the observation."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from incremental_assets.core.model.cursor import CursorValue
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.window import Window, merge
from incremental_assets.core.planning.bound import Bound
from incremental_assets.core.planning.clock_steps import put_back
from incremental_assets.core.planning.discarding import discarded_warning
from incremental_assets.core.planning.local_readings import highest_reading
from incremental_assets.core.planning.new_columns import new_columns
from incremental_assets.core.planning.parts import changed_parts
from incremental_assets.core.planning.plan import (
    CommitIds,
    Mode,
    NothingToDo,
    Observation,
    Request,
    SyncPlan,
    covered_below,
)
from incremental_assets.core.planning.preflight import (
    check_identity,
    check_shown,
    check_terms,
    check_zone,
    clock_went_back,
    columns_returned,
    highest_fell,
    identity_hidden,
    lags_behind,
    latest_fell,
    never_read,
    start_ahead,
    timeline_turned,
)
from incremental_assets.core.planning.renames import as_renamed, check_renames, renames_of, told_too_late
from incremental_assets.core.planning.settled_bound import (
    Guarantee,
    Settled,
    held_at,
    settle,
    settle_whole,
    still_settled,
)
from incremental_assets.core.planning.windows import lower_end, reading
from incremental_assets.core.planning.zones import rezoned, rezoned_warning, zones_of


def plan(
    spec: TableSpec, request: Request, landed: State | None, commit_ids: CommitIds, observation: Observation
) -> SyncPlan | NothingToDo:
    """The plan of one sync, or NothingToDo; stops if the source or the settings are not those of the landed rows."""
    # What is written anew has the source's names, whichever they were.
    renames = () if request.mode is Mode.FULL_REFRESH else renames_of(spec, landed)
    decision = _planned(spec, request, as_renamed(spec, landed) if renames else landed, commit_ids, observation)
    lags = request.mode is Mode.SYNC and lags_behind(landed, observation.bound)
    if request.mode is Mode.FULL_REFRESH or lags:
        # A replica that lags behind may show the names of before.
        return decision
    check_renames(spec, landed, renames)
    return replace(decision, renames=renames, warnings=(*decision.warnings, *told_too_late(spec, landed)))


def _planned(
    spec: TableSpec, request: Request, landed: State | None, commit_ids: CommitIds, observation: Observation
) -> SyncPlan | NothingToDo:
    bound, cursor = observation.bound, spec.cursor
    check_identity(spec, request, landed, bound)
    check_terms(spec, request, landed)
    check_zone(spec, bound)
    check_shown(spec, observation)
    state = rezoned(spec, landed, bound)
    if request.mode is Mode.SYNC and (lag := lags_behind(state, bound)):
        mark = state.position.watermark if state else None
        return NothingToDo("the replica lags behind", Guarantee.BEST_EFFORT, lag, None, mark, warnings=(lag,))
    if cursor is None or not spec.is_incremental:
        return _plan_whole(spec, request, state, commit_ids, observation)
    future = highest_reading(cursor, bound, bound.clock) if cursor.type.is_time else None
    known = _only_the_clock(state, bound) if request.mode is Mode.FULL_REFRESH else state
    settled = held_at(observation.uncommitted, settle(spec, cursor, bound, observation.highest, known))
    window = reading(spec, request, state, observation)
    # What has not been read has not settled, even if the highest number has fallen since it was held back.
    settled = replace(settled, value=_at_most(settled.value, window.upper))
    previous = state.position.watermark if state else None
    stands = still_settled(spec, bound, known)
    watermark = previous if request.mode.reads_again else _reached(spec, stands, settled.value)
    warnings = (
        *timeline_turned(known, bound),
        *clock_went_back(spec, known, bound),
        *highest_fell(spec, known, observation.highest),
        *latest_fell(spec, known, observation.fingerprint),
        *identity_hidden(bound),
        *never_read(spec, known),
        *start_ahead(spec, window, future if cursor.type.is_time else observation.highest),
        *columns_returned(spec, known),
        *rezoned_warning(spec, landed, state),
        *discarded_warning(spec, known),
        *changed_parts(known if request.mode is Mode.SYNC else None, observation.parts),
    )
    if request.mode is Mode.FILL and not _is_left(state, request.window):
        return NothingToDo("nothing is left to fill", settled.guarantee, settled.reason, settled.value, previous)
    members = observation.parts.members if observation.parts else known.members if known else None
    back = put_back(known, bound)
    compares = _compares_keys(spec, request, state, bound)
    if request.mode is Mode.SYNC and state is not None:
        covered = covered_below(state, watermark)
        idle = replace(
            state,
            position=replace(state.position, watermark=watermark, settling=settled.settling),
            fingerprint=observation.narrowed or state.fingerprint,
            identity=bound.identity or state.identity,
            reading=bound.reading,
            put_back=back,
            coverage=merge((*covered, window.clamp_upper(settled.value))) if settled.value is not None else covered,
            members=members,
            zones=zones_of(cursor, bound, state.zones),
        )
        stands_still = window.is_empty or not (_differs(state, window, observation) or _is_due(state, future))
        if stands_still and not compares and not new_columns(spec, state):
            changed = (
                watermark != previous
                or (settled.settling, members) != (state.position.settling, state.members)
                or observation.narrowed is not None
            )
            return NothingToDo(
                "nothing changed",
                settled.guarantee,
                settled.reason,
                settled.value,
                previous,
                idle if changed else None,
                warnings,
            )
    return SyncPlan(
        spec=spec,
        request=request,
        commit_ids=commit_ids,
        window=window,
        bound=bound,
        settled=settled,
        previous=state,
        new_watermark=watermark,
        fingerprint_lower=lower_end(spec, watermark),
        late_below=_late_below(spec, request, state, bound),
        future_above=future,
        members=members,
        zones=zones_of(cursor, bound, known.zones if known else ()),
        warnings=warnings,
        put_back=back,
        compares_keys=compares,
    )


def _plan_whole(
    spec: TableSpec, request: Request, state: State | None, commit_ids: CommitIds, observation: Observation
) -> SyncPlan | NothingToDo:
    """The plan of a table without a cursor: all of its rows are read, or all are compared, when that is due."""
    bound = observation.bound
    compares_keys = _compares_keys(spec, request, state, bound)
    # To read it again is to compare it: a whole read would leave what is gone, and have the next comparison wait.
    compares_rows = spec.compares and request.mode is not Mode.FULL_REFRESH and state is not None
    settled = _settle_compared(bound, blind=not compares_keys) if compares_rows else settle_whole(bound)
    if (
        request.mode is Mode.SYNC
        and state is not None
        and state.clock is not None
        # A clock that was put back would make it wait for that long, plus the interval.
        and timedelta() <= bound.clock - state.clock < spec.refresh_every
    ):
        due = state.clock + spec.refresh_every
        return NothingToDo(
            f"not due before {due:%Y-%m-%d %H:%M}Z",
            settled.guarantee,
            settled.reason,
            None,
            None,
            None,
            (*timeline_turned(state, bound), *identity_hidden(bound)),
        )
    return SyncPlan(
        spec=spec,
        request=request,
        commit_ids=commit_ids,
        window=Window(None, None),
        bound=bound,
        settled=settled,
        previous=state,
        new_watermark=None,
        fingerprint_lower=None,
        late_below=None,
        future_above=None,
        members=observation.parts.members if observation.parts else None,
        compares_keys=compares_keys,
        compares_rows=compares_rows,
        warnings=(
            *(() if request.mode is Mode.FULL_REFRESH else timeline_turned(state, bound)),
            *identity_hidden(bound),
            *discarded_warning(spec, state),
        ),
    )


def _settle_compared(bound: Bound, *, blind: bool) -> Settled:
    """`blind`: nothing tells that the snapshot is later than what has landed, so that no row may be taken out."""
    if blind:
        why = "the replica does not say which database it is, so that what is gone from it stays in the copy"
        return Settled(None, Guarantee.BEST_EFFORT, why)
    return settle_whole(bound, "compared with the copy")


def _only_the_clock(state: State | None, bound: Bound) -> State | None:
    """The state that a full refresh continues from: none, as an exchanged source may be before the old watermark, and has another clock."""
    kept, found = (state.identity if state else None), bound.identity
    if state is None or kept is None or found is None or not found.is_of(kept):
        return None
    return replace(state.forgotten(state.seq), identity=None, reading=state.reading, put_back=state.put_back)


def _differs(state: State, window: Window, observation: Observation) -> bool:
    """Whether the source may show other rows than those that landed. A fingerprint does not cover rows below its start."""
    kept = state.fingerprint
    if kept is None or observation.fingerprint != kept:
        return True
    return kept.lower is not None and (window.lower is None or window.lower < kept.lower)


def _compares_keys(spec: TableSpec, request: Request, state: State | None, bound: Bound) -> bool:
    """Whether deletes are to be looked for now. Only a snapshot that is known to be later than all that was read can tell of one."""
    if not spec.deletes.compares or (bound.replica and bound.identity is None):
        return False
    if request.mode is not Mode.SYNC:
        return request.mode is Mode.REPAIR or (spec.compares and request.mode is Mode.BACKFILL)
    last = state.compared if state else None
    # A clock that was put back would have it wait for as long as that, and the interval.
    return last is None or not timedelta() <= bound.clock - last.clock < spec.deletes.every


def _is_left(state: State | None, window: Window | None) -> bool:
    """Whether a range of new columns is still the next one: another run may have read it."""
    left = state.unfilled if state else None
    return left is not None and window is not None and window.lower == left.reached


def _is_due(state: State, future: CursorValue | None) -> bool:
    """Whether the clock has reached a row that was stamped ahead of it."""
    return state.position.due is not None and future is not None and state.position.due < future


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
    """How far an earlier sync had read: its highest row, but not past its clock, and at least its watermark."""
    if request.mode is not Mode.SYNC or state is None or state.clock is None or spec.cursor is None:
        return None
    reached = state.position.max_cursor_read
    if reached is not None and spec.cursor.type.is_time:
        reached = min(reached, highest_reading(spec.cursor, bound, state.clock))
    return _later(state.position.watermark, reached)
