"""Decide what one sync reads and where its watermark goes: pure, from the configuration, the last state and the observation."""

from __future__ import annotations

from dataclasses import replace

from incremental_assets.core.model.cursor import CursorValue
from incremental_assets.core.model.guarantee import Guarantee
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.window import Window, merge
from incremental_assets.core.planning.altered import definition_of
from incremental_assets.core.planning.by_cursor import plan_by_cursor
from incremental_assets.core.planning.comparing import deletes_due
from incremental_assets.core.planning.database_reading import covered_below, of_database
from incremental_assets.core.planning.new_columns import new_columns
from incremental_assets.core.planning.plan import (
    CommitIds,
    Mode,
    NothingToDo,
    Observation,
    Request,
    SyncPlan,
)
from incremental_assets.core.planning.preflight import (
    check_identity,
    check_shown,
    check_terms,
    check_zone,
    lags_behind,
)
from incremental_assets.core.planning.renames import as_renamed, check_renames, renamed_too_late, renames_of
from incremental_assets.core.planning.stamps import restamped, stamps_seen
from incremental_assets.core.planning.updates import updates_not_copied
from incremental_assets.core.planning.whole import plan_whole
from incremental_assets.core.planning.zones import rezoned, rezoned_warning


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
    return replace(decision, renames=renames, warnings=(*decision.warnings, *renamed_too_late(spec, landed)))


def _planned(
    spec: TableSpec, request: Request, landed: State | None, commit_ids: CommitIds, observation: Observation
) -> SyncPlan | NothingToDo:
    bound = observation.bound
    check_identity(spec, request, landed, bound)
    if request.mode is not Mode.FULL_REFRESH:  # else everything is read again
        check_terms(spec, landed)
    check_zone(spec, bound)
    check_shown(spec, observation)
    state = restamped(spec, rezoned(spec, landed, bound))
    if request.mode is Mode.SYNC and (lag := lags_behind(state, bound)):
        mark = state.position.watermark if state else None
        return NothingToDo("the replica lags behind", Guarantee.BEST_EFFORT, lag, None, mark, warnings=(lag,))
    if spec.cursor is None or not spec.is_incremental:
        return plan_whole(spec, request, state, commit_ids, observation)
    planned = plan_by_cursor(spec, request, state, commit_ids, observation)
    planned = replace(planned, warnings=(*planned.warnings, *rezoned_warning(spec, landed, state)))
    if request.mode is Mode.FILL and not _is_left(state, request.window):
        read = of_database(planned)
        settled = read.settled
        return NothingToDo(
            "nothing is left to fill",
            settled.guarantee,
            settled.reason,
            settled.value,
            read.new_watermark,
            within=settled.within,
        )
    if request.mode is Mode.SYNC and state is not None and _stands_still(planned, state, observation):
        return _nothing_changed(planned, state, observation)
    return planned


def _stands_still(planned: SyncPlan, state: State, observation: Observation) -> bool:
    """Whether there is nothing to read: no other rows, none whose time has come, no deletes to look for, no new column, no table that was altered."""
    read = of_database(planned)
    window = read.window
    shows_others = not window.is_empty and (_differs(state, window, observation) or _is_due(state, read.future_above))
    asked = read.finds_gone or read.finds_differing
    return not (shows_others or asked or new_columns(planned.spec, state))


def _nothing_changed(planned: SyncPlan, state: State, observation: Observation) -> NothingToDo:
    """The watermark moves all the same, and with it what the state knows of the source."""
    read, previous = of_database(planned), state.position
    settled = read.settled
    covered = covered_below(state, read.new_watermark)
    idle = replace(
        state,
        position=replace(previous, watermark=read.new_watermark, settling=settled.settling),
        fingerprint=observation.narrowed or state.fingerprint,
        identity=read.bound.identity or state.identity,
        reading=read.bound.reading,
        put_back=read.put_back,
        coverage=merge((*covered, read.window.clamp_upper(settled.value))) if settled.value is not None else covered,
        members=read.members,
        zones=read.zones,
        definition=definition_of(planned.spec, state),
        stamps=stamps_seen(planned.spec, state, read.doubtful_stamps),
        updates=planned.spec.shape.updates if updates_not_copied(planned.spec) else state.updates,
    )
    changed = (
        (idle.position.watermark, idle.position.settling) != (previous.watermark, previous.settling)
        or idle.members != state.members
        or idle.definition != state.definition
        or (idle.stamps, idle.updates) != (state.stamps, state.updates)
        or observation.narrowed is not None
    )
    return NothingToDo(
        "nothing changed",
        settled.guarantee,
        settled.reason,
        settled.value,
        previous.watermark,
        idle if changed else None,
        planned.warnings,
        within=settled.within,
        deletes_due=deletes_due(planned.spec, state),
    )


def _differs(state: State, window: Window, observation: Observation) -> bool:
    """Whether the source may show other rows than those that landed. A fingerprint does not cover rows below its start."""
    kept = state.fingerprint
    if kept is None or observation.fingerprint != kept:
        return True
    return kept.lower is not None and (window.lower is None or window.lower < kept.lower)


def _is_left(state: State | None, window: Window | None) -> bool:
    """Whether a range of new columns is still the next one: another run may have read it."""
    left = state.unfilled if state else None
    return left is not None and window is not None and window.lower == left.reached


def _is_due(state: State, future: CursorValue | None) -> bool:
    """Whether the clock has reached a row that was stamped ahead of it."""
    return state.position.due is not None and future is not None and state.position.due < future
