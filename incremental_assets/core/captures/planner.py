"""The plan of one sync: its capture's, under the names that the source has now. Pure."""

from __future__ import annotations

from dataclasses import replace

from incremental_assets.core.captures.capture import Observation
from incremental_assets.core.captures.due import at_its_time
from incremental_assets.core.captures.registry import capture_of
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.planning.plan import CommitIds, Mode, NothingToDo, Request, SyncPlan
from incremental_assets.core.planning.renames import (
    as_masked,
    as_renamed,
    check_pii,
    check_renames,
    renamed_too_late,
    renames_of,
)


def plan(
    spec: TableSpec, request: Request, landed: State | None, commit_ids: CommitIds, observation: Observation
) -> SyncPlan | NothingToDo:
    """The plan of one sync, or NothingToDo; stops if the source or the settings are not those of the landed rows."""
    # What is written anew has the source's names, whichever they were.
    renames = () if request.mode is Mode.FULL_REFRESH else renames_of(spec, landed)
    state = as_renamed(spec, landed) if renames else as_masked(spec, landed)
    decision = capture_of(spec).plan(spec, request, state, commit_ids, observation)
    if request.mode is Mode.FULL_REFRESH or (isinstance(decision, NothingToDo) and decision.is_behind):
        # A replica that lags behind may show the names of before.
        return decision
    check_renames(spec, landed, renames)
    check_pii(spec, landed)
    named = replace(decision, renames=renames, warnings=(*decision.warnings, *renamed_too_late(spec, landed)))
    return at_its_time(spec, request, state, named, observation.bound.clock)
