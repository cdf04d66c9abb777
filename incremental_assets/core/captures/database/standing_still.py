"""A table that stands still: a look by its cursor finds nothing to read. Pure."""

from __future__ import annotations

from dataclasses import replace

from incremental_assets.core.captures.database.comparing import deletes_due
from incremental_assets.core.captures.database.observation import DatabaseObservation
from incremental_assets.core.captures.database.position import position_of
from incremental_assets.core.captures.database.reading import of_database
from incremental_assets.core.captures.database.stamps import stamps_seen
from incremental_assets.core.captures.database.updates import updates_not_copied
from incremental_assets.core.captures.landed import definition_of
from incremental_assets.core.model.cursor import CursorValue
from incremental_assets.core.model.state import State
from incremental_assets.core.model.window import Window, merge
from incremental_assets.core.planning.new_columns import new_columns
from incremental_assets.core.planning.plan import Mode, NothingToDo, SyncPlan


def idle(plan: SyncPlan, observation: DatabaseObservation) -> NothingToDo | None:
    """What is said instead of a plan that would read nothing new by its cursor; None where it has something to read."""
    mode, state = plan.request.mode, plan.previous
    if mode is Mode.FILL and not _is_left(state, plan.request.window):
        reading = of_database(plan)
        settled = reading.settled
        return NothingToDo(
            "nothing is left to fill",
            settled.guarantee,
            settled.reason,
            settled.value,
            reading.new_watermark,
            within=settled.within,
        )
    if mode is Mode.SYNC and state is not None and _stands_still(plan, state, observation):
        return _nothing_changed(plan, state, observation)
    return None


def _stands_still(planned: SyncPlan, state: State, observation: DatabaseObservation) -> bool:
    """Whether there is nothing to read: no other rows, none whose time has come, no deletes to look for, no new column, no table that was altered."""
    read = of_database(planned)
    window = read.window
    shows_others = not window.is_empty and (_differs(state, window, observation) or _is_due(state, read.future_above))
    asked = read.finds_gone or read.finds_differing or read.ranges
    return not (shows_others or asked or new_columns(planned.spec, state))


def _nothing_changed(planned: SyncPlan, state: State, observation: DatabaseObservation) -> NothingToDo:
    """The watermark moves all the same, and with it what the state knows of the source."""
    read, previous = of_database(planned), position_of(state)
    settled = read.settled
    covered = previous.covered_below(read.new_watermark)
    now = replace(
        previous,
        watermark=read.new_watermark,
        settling=settled.settling,
        fingerprint=observation.narrowed or previous.fingerprint,
        reading=read.bound.reading,
        put_back=read.put_back,
        coverage=merge((*covered, read.window.clamp_upper(settled.value))) if settled.value is not None else covered,
        members=read.members,
        zones=read.zones,
        stamps=stamps_seen(planned.spec, state, read.doubtful_stamps),
        updates=planned.spec.shape.updates if updates_not_copied(planned.spec) else previous.updates,
    )
    identity, definition = read.bound.identity or state.identity, definition_of(planned.spec, state)
    idle = replace(state, position=now, identity=identity, definition=definition)
    changed = (
        (now.watermark, now.settling) != (previous.watermark, previous.settling)
        or now.members != previous.members
        or definition != state.definition
        or (now.stamps, now.updates) != (previous.stamps, previous.updates)
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


def _differs(state: State, window: Window, observation: DatabaseObservation) -> bool:
    """Whether the source may show other rows than those that landed. A fingerprint does not cover rows below its start."""
    kept = position_of(state).fingerprint
    if kept is None or observation.fingerprint != kept:
        return True
    return kept.lower is not None and (window.lower is None or window.lower < kept.lower)


def _is_left(state: State | None, window: Window | None) -> bool:
    """Whether a range of new columns is still the next one: another run may have read it."""
    left = state.unfilled if state else None
    return left is not None and window is not None and window.lower == left.reached


def _is_due(state: State, future: CursorValue | None) -> bool:
    """Whether the clock has reached a row that was stamped ahead of it."""
    due = position_of(state).due
    return due is not None and future is not None and due < future
