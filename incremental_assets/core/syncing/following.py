"""Bring the history of a table up to its copy: after each landing, and before a sync for what a dead run, or the configuration, has left to do."""

from __future__ import annotations

from dataclasses import replace

from incremental_assets.core.errors import LakeRefused, SchemaChanged, SourceRefused
from incremental_assets.core.model.history import History, HistoryRows, Step
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.planning.plan import Mode, Request, SyncPlan
from incremental_assets.core.ports import LakeHistorian
from incremental_assets.core.syncing.phases import Phases


def behind(spec: TableSpec, lake: LakeHistorian) -> Step | None:
    """What the history has still to follow; None where it has nothing, or none is kept."""
    return None if spec.history is History.NONE else lake.behind(spec)


def together(first: HistoryRows | None, then: HistoryRows | None) -> HistoryRows | None:
    """What two commits did; None where neither was."""
    return first + then if first and then else then or first


def lost(spec: TableSpec, rows: HistoryRows | None) -> tuple[str, ...]:
    """What a run says that has begun a history again, where one had been."""
    if rows is None or not rows.begun_again:
        return ()
    return (
        f"{spec.id}: its history was gone from the lake, so that a new one begins with the copy as it is; if nobody has moved the old one away, put it back in its place",
    )


def follow(spec: TableSpec, run_id: str, lake: LakeHistorian) -> HistoryRows | None:
    """The history shows the copy as it is, which the lease keeps as it is. What was done for it; None where nothing was."""
    step = behind(spec, lake)
    return None if step is None else replace(lake.follow(spec, step, run_id), begun_again=step.begins_again)


def catch_up(spec: TableSpec, request: Request, lake: LakeHistorian) -> HistoryRows | None:
    """The same before a sync, for what a dead run has left to do.

    Where what the source's log had of that is lost, or is no more what it was, everything is to be read again: that goes on without it.
    """
    try:
        return follow(spec, request.run_id, lake)
    except (LakeRefused, SchemaChanged, SourceRefused):
        if request.mode is not Mode.FULL_REFRESH or not spec.capture:
            raise
        return None


def follow_commit(plan: SyncPlan, lake: LakeHistorian, phases: Phases) -> HistoryRows | None:
    """Follow a commit, as a phase of its own; None where the table keeps no history, or there was nothing to follow."""
    if plan.spec.history is History.NONE:
        return None
    phases.enter("history")
    return follow(plan.spec, plan.request.run_id, lake)
