"""What one sync of a table without a cursor reads or compares, and when that is due."""

from __future__ import annotations

from datetime import datetime, timedelta

from incremental_assets.core.captures.database.comparing import compares_keys, settle_compared
from incremental_assets.core.captures.database.observation import DatabaseObservation
from incremental_assets.core.captures.database.preflight import identity_hidden, timeline_turned
from incremental_assets.core.captures.database.reading import DatabaseReading
from incremental_assets.core.captures.database.settled_bound import settle_whole
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.planning.discarding import discarded_warning
from incremental_assets.core.planning.plan import CommitIds, Mode, NothingToDo, Request, SyncPlan


def next_look(spec: TableSpec, state: State | None) -> datetime | None:
    """When a table that is read or compared at intervals is due; None for one with a cursor, and before its first sync."""
    if spec.read_by is not None or state is None or state.clock is None:
        return None
    return state.clock + spec.refresh_every


def plan_whole(
    spec: TableSpec, request: Request, state: State | None, commit_ids: CommitIds, observation: DatabaseObservation
) -> SyncPlan | NothingToDo:
    """The plan of a table without a cursor: all of its rows are read, or all are compared; NothingToDo before that is due."""
    bound = observation.bound
    with_keys = compares_keys(spec, request, state, bound)
    # To read it again is to compare it: a whole read would leave what is gone, and have the next comparison wait.
    compares_rows = spec.compares and request.mode is not Mode.FULL_REFRESH and state is not None
    settled = settle_compared(spec, bound, blind=not with_keys) if compares_rows else settle_whole(spec, bound)
    if (
        request.mode is Mode.SYNC
        and not request.looks_now
        and state is not None
        and state.clock is not None
        # A clock that was put back would make it wait for that long, plus the interval.
        and timedelta() <= bound.clock - state.clock < spec.refresh_every
    ):
        due = next_look(spec, state)
        return NothingToDo(
            f"not due before {due:%Y-%m-%d %H:%M}Z",
            settled.guarantee,
            settled.reason,
            None,
            None,
            None,
            (*timeline_turned(state, bound), *identity_hidden(bound)),
            next_look=due,
        )
    return SyncPlan(
        spec=spec,
        request=request,
        commit_ids=commit_ids,
        reading=DatabaseReading(
            finds_gone=with_keys,
            finds_differing=compares_rows,
            bound=bound,
            settled=settled,
            members=observation.parts.members if observation.parts else None,
        ),
        previous=state,
        warnings=(
            *(() if request.mode is Mode.FULL_REFRESH else timeline_turned(state, bound)),
            *identity_hidden(bound),
            *discarded_warning(spec, state),
        ),
    )
