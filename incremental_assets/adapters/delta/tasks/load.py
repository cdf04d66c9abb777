"""A first load as one commit of our own: tasks write the rows straight into files of the target, side by side."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from incremental_assets.adapters.delta.commit_metadata import CommitMetadata
from incremental_assets.adapters.delta.log import log_cache, vectors
from incremental_assets.adapters.delta.log.log_state import LogState
from incremental_assets.adapters.delta.staging.arrow_staging import counting_of
from incremental_assets.adapters.delta.tasks import eligible
from incremental_assets.adapters.delta.tasks.files.columns import Columns
from incremental_assets.adapters.delta.tasks.files.marked_file import removed
from incremental_assets.adapters.delta.tasks.load_task import Loaded, LoadUnit
from incremental_assets.adapters.delta.tasks.next_version import NextVersion
from incremental_assets.adapters.spark.arrow_types import unknown_type
from incremental_assets.adapters.spark.not_by_tasks import NotByTasks
from incremental_assets.adapters.spark.tasks import Tasks
from incremental_assets.core.errors import StageBroken
from incremental_assets.core.planning.plan import SyncPlan
from incremental_assets.core.ports import Snapshot

_TASK = "incremental_assets.adapters.delta.tasks.load_task"
_ALL = 2**62


@dataclass(frozen=True, slots=True)
class LoadCounts:
    """Rows that were written, and those of them past the source's clock."""

    rows: int
    future: int


@dataclass(frozen=True, slots=True)
class Load:
    """The rows that are to be all of a table, what their commit says, and how many of them a file may hold."""

    plan: SyncPlan
    snapshot: Snapshot
    note: CommitMetadata
    rows_per_file: int | None


def load(tasks: Tasks, path: str, of: Load) -> LoadCounts:
    """Replace all that is in the table by the snapshot's rows. Raises NotByTasks where that is Spark's, StageBroken before anything is committed."""
    plan, snapshot, note = of.plan, of.snapshot, of.note
    state = _table(path, plan, snapshot, note.seen)
    stored = Columns.of(state)
    columns = tuple(stored.stored(each.name, each.spark_type) for each in plan.spec.columns)
    marks = stored.marks(plan.request.run_id, note.seq)
    kept = stored.statistics(state.properties)
    units = [
        LoadUnit(
            part=part,
            table=path,
            columns=columns,
            marks=marks,
            statistics=tuple(each.name for each in (*columns, *marks.stored) if each.name in kept),
            counting=counting_of(plan),
            rows_per_file=of.rows_per_file or _ALL,
        )
        for part in snapshot.parts
    ]
    loaded: list[Loaded] = tasks.run_all(_TASK, units)
    counts = LoadCounts(sum(each.rows for each in loaded), sum(each.future for each in loaded))
    adds = [add for each in loaded for add in each.adds]
    now = time.time_ns() // 1_000_000
    actions: list[Mapping[str, Any]] = vectors.given_up(state, plan.spec.readers)
    actions += [{"remove": removed(each, now)} for each in state.files.values()]
    actions += [{"add": each} for each in adds]
    version = NextVersion(path, state, note, _info(adds, counts.rows), actions, [each["path"] for each in adds])
    if counts.rows != snapshot.rows:
        version.discard()
        raise StageBroken(
            f"{plan.spec.id}: {counts.rows} rows were read where the source counts {snapshot.rows} in the same snapshot; "
            "nothing was written, run the sync again, and report it if it stays"
        )
    version.commit(plan.spec)
    return counts


def _table(path: str, plan: SyncPlan, snapshot: Snapshot, version: int) -> LogState:
    if snapshot.parts is None:
        raise NotByTasks("the rows come by Spark alone")
    if why := unknown_type(each.spark_type for each in plan.spec.columns):
        raise NotByTasks(why)
    state = log_cache.at(path, version)
    if why := eligible.refused_by_table(state):
        raise NotByTasks(why)
    return state


def _info(adds: list[Mapping[str, Any]], rows: int) -> dict[str, Any]:
    metrics = {"numFiles": len(adds), "numOutputRows": rows, "numOutputBytes": sum(each["size"] for each in adds)}
    return {
        "operation": "WRITE",
        "operationParameters": {"mode": "Overwrite"},
        "isBlindAppend": False,
        "operationMetrics": {name: str(value) for name, value in metrics.items()},
    }
