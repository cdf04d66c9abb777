"""Old rows leave a table in a commit of our own, which writes the files anew that held them: a mark would leave their values where they are."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from incremental_assets.adapters.delta.commit_metadata import CommitMetadata
from incremental_assets.adapters.delta.log import log_cache
from incremental_assets.adapters.delta.log.log_state import LogState
from incremental_assets.adapters.delta.tasks.compaction.gathering import refused_by
from incremental_assets.adapters.delta.tasks.files.columns import Columns
from incremental_assets.adapters.delta.tasks.files.marked_file import removed
from incremental_assets.adapters.delta.tasks.forgetting.unit import ForgetUnit, Forgotten, Old
from incremental_assets.adapters.delta.tasks.next_version import NextVersion
from incremental_assets.adapters.spark.not_by_tasks import NotByTasks
from incremental_assets.adapters.spark.tasks import Tasks
from incremental_assets.core.model.table import TableSpec

_TASK = "incremental_assets.adapters.delta.tasks.forgetting.task"


@dataclass(frozen=True, slots=True)
class Forgetting:
    """Which rows go of a table as the note has seen it; `predicate`: the same in SQL, for Spark and for readers of the log."""

    spec: TableSpec
    path: str
    note: CommitMetadata
    predicate: str
    old: Old


def forget(tasks: Tasks, work: Forgetting) -> int:
    """How many rows went; without any, nothing is committed. Raises NotByTasks where it is Spark's, Overtaken where another writer was first."""
    state = log_cache.at(work.path, work.note.seen)
    if refused := refused_by(state):
        raise NotByTasks(refused)
    units = _units(work, state)
    done: list[Forgotten] = tasks.run_all(_TASK, units) if units else []
    changed = [(unit.file, each) for unit, each in zip(units, done, strict=True) if each.changed]
    if not changed:
        return 0
    rows = sum(each.rows for _, each in changed)
    now = time.time_ns() // 1_000_000
    adds = [each.add for _, each in changed if each.add is not None]
    actions: list[Mapping[str, Any]] = [{"remove": removed(file, now)} for file, _ in changed]
    actions += [{"add": add} for add in adds]
    metrics = {"numDeletedRows": rows, "numRemovedFiles": len(changed), "numAddedFiles": len(adds)}
    info = {
        "operation": "DELETE",
        "operationParameters": {"predicate": f'["({work.predicate})"]'},
        "operationMetrics": {name: str(value) for name, value in metrics.items()},
        "isBlindAppend": False,
    }
    files = [str(add["path"]) for add in adds]
    # Made again, it finds nothing more to do.
    NextVersion(work.path, state, work.note, info, actions, files, once=False).commit(work.spec)
    return rows


def _units(work: Forgetting, state: LogState) -> list[ForgetUnit]:
    columns = Columns.of(state)
    stored, kept = columns.all(), columns.statistics(state.properties)
    names = tuple(each.name for each in stored if each.name in kept)
    return [ForgetUnit(work.path, add, stored, names, work.old) for add in state.files.values()]
