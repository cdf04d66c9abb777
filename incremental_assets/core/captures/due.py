"""When a table is due, whichever its capture: by its own schedule, or as its capture says. Pure."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from incremental_assets.core.captures.registry import capture_of
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.planning.plan import Mode, NothingToDo, Request, SyncPlan


def next_look(spec: TableSpec, state: State | None) -> datetime | None:
    """When a table is due that is not looked at all the time; None for others, and before its first sync."""
    if spec.schedule is None:
        return capture_of(spec).next_look(spec, state)
    looked = _looked(state)
    return None if looked is None else spec.schedule.next_after(looked)


def at_its_time(
    spec: TableSpec, request: Request, state: State | None, decision: SyncPlan | NothingToDo, clock: datetime
) -> SyncPlan | NothingToDo:
    """The decision of a table with a schedule: nothing before it is due. A look that was due and found nothing is kept, else every later one would be due."""
    if spec.schedule is None or request.mode is not Mode.SYNC or state is None:
        return decision
    looked, due = _looked(state), next_look(spec, state)
    # A clock that was put back would make it wait for that long besides.
    if due is not None and looked is not None and looked <= clock < due and not request.looks_now:
        return _not_before(due, decision)
    if isinstance(decision, SyncPlan) or decision.is_behind or decision.renames:
        return decision
    return replace(decision, state=replace(decision.state or state, looked=clock))


def _looked(state: State | None) -> datetime | None:
    """When it was looked at last; None before the first sync, and after a reset."""
    if state is None or state.clock is None:
        return None
    return state.clock if state.looked is None else max(state.clock, state.looked)


def _not_before(due: datetime, decision: SyncPlan | NothingToDo) -> NothingToDo:
    reason = f"not due before {due:%Y-%m-%d %H:%M}Z"
    if isinstance(decision, NothingToDo):
        return replace(decision, reason=reason, state=None, next_look=due)
    promise = decision.reading.promise
    return NothingToDo(
        reason,
        promise.guarantee,
        promise.reason,
        None,
        decision.previous_watermark,
        warnings=decision.warnings,
        renames=decision.renames,
        next_look=due,
        within=promise.within,
    )
