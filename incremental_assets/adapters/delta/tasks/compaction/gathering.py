"""Compaction as a commit of our own: tasks write the rows of some files into new ones, and no row of the table is another one after it."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from incremental_assets.adapters.delta import plane
from incremental_assets.adapters.delta.commit_metadata import CommitMetadata
from incremental_assets.adapters.delta.log import log_cache
from incremental_assets.adapters.delta.log.log_state import LogState
from incremental_assets.adapters.delta.tasks import eligible
from incremental_assets.adapters.delta.tasks.compaction.gather_unit import GatherUnit
from incremental_assets.adapters.delta.tasks.files.columns import Columns
from incremental_assets.adapters.delta.tasks.files.marked_file import has_same_rows, removed
from incremental_assets.adapters.delta.tasks.next_version import NextVersion
from incremental_assets.adapters.spark.arrow_types import unknown_type
from incremental_assets.adapters.spark.not_by_tasks import NotByTasks
from incremental_assets.adapters.spark.tasks import Tasks
from incremental_assets.core.errors import CommitMissing, Overtaken
from incremental_assets.core.model.compaction import Bins, How, gathered, purged
from incremental_assets.core.model.table_id import TableId

_TASK = "incremental_assets.adapters.delta.tasks.compaction.gather_task"
_ATTEMPTS = 10
"""How often to try to commit, each time after other writers whose commits do not concern the files."""
_OPERATIONS: Mapping[How, tuple[str, Mapping[str, Any]]] = {
    How.GATHER: ("OPTIMIZE", {"predicate": "[]", "auto": False, "clusterBy": "[]", "zOrderBy": "[]"}),
    How.PURGE: ("REORG", {"predicate": "[]", "applyPurge": True}),
}
"""The operations in Delta's words, by which readers of the history know that no row was changed."""

Action = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Compacting:
    """What is done to the files of a table at a version, and what its commit says. `key`: by which rows are looked for later."""

    table: TableId
    path: str
    version: int
    how: How
    note: CommitMetadata
    key: tuple[str, ...] = ()

    def missing(self) -> CommitMissing:
        """The error where the log has no commit of this compaction."""
        return CommitMissing(
            f"{self.table}: the log of {self.path} holds no such compaction: nothing was found to compact, or another writer was first"
        )


def refused_by(state: LogState) -> str:
    """Why a table is compacted by Spark; empty where tasks may do it. Pure."""
    return unknown_type(Columns.of(state).types) or eligible.refused_by_table(state)


def compact(tasks: Tasks, work: Compacting) -> None:
    """One commit. Raises NotByTasks where it is Spark's, CommitMissing where there is nothing to do, Overtaken where another writer has changed these files."""
    state = log_cache.at(work.path, work.version)
    if refused := refused_by(state):
        raise NotByTasks(refused)
    units = units_of(work, state)
    if not units:
        raise work.missing()
    adds = [add for add in tasks.run_all(_TASK, units) if add is not None]
    taken = [add for unit in units for add in unit.files]
    now = time.time_ns() // 1_000_000
    actions: list[Action] = [{"remove": {**removed(add, now), "dataChange": False}} for add in taken]
    actions += [{"add": add} for add in adds]
    files = [add["path"] for add in adds]
    version = NextVersion(work.path, state, work.note, _info(work.how, taken, adds), actions, files, once=False)
    _commit(work, version, taken)


def units_of(work: Compacting, state: LogState) -> list[GatherUnit]:
    """What tasks are given: the files of each new file, in the order in which they came. Pure."""
    files, columns = tuple(state.files.values()), Columns.of(state)
    stored, kept = columns.all(), columns.statistics(state.properties)
    names = tuple(each.name for each in stored if each.name in kept)
    # Large files, which a purge writes anew, are in an order already.
    order = tuple(columns.stored(name, "").name for name in work.key) if work.how is How.GATHER else ()
    return [
        GatherUnit(work.path, tuple(files[place] for place in sorted(places)), stored, names, order)
        for places in _bins(work.how, files)
    ]


def _bins(how: How, files: Sequence[Action]) -> Bins:
    sizes = [int(add["size"]) for add in files]
    if how is How.GATHER:
        return gathered(sizes)
    return purged(sizes, [add.get("deletionVector") is not None for add in files])


def _commit(work: Compacting, version: NextVersion, taken: Sequence[Action]) -> None:
    """What others have committed meanwhile may stand before it, unless it concerns these files: a row that they have marked would be there again."""
    for _ in range(_ATTEMPTS):
        if version.put():
            return
        now = _latest(work.path)
        if now is None or not _fits(version.state, now, taken):
            break
        version = replace(version, state=now)
    version.discard()
    raise Overtaken(
        f"{work.table}: another writer changed the files of {work.path} while they were being compacted, so they stay as that writer left them"
    )


def _latest(path: str) -> LogState | None:
    # None, too, where another writer has made it a table that only others know.
    seen = plane.known(lambda: log_cache.latest(path))
    return None if seen is None else seen.state


def _fits(was: LogState, now: LogState, taken: Iterable[Action]) -> bool:
    """Whether each of these files still has the rows that it had, in a table of the same columns and settings. Pure."""
    if (was.metadata, was.protocol) != (now.metadata, now.protocol):
        return False
    there = {add["path"]: add for add in now.files.values()}
    return all(has_same_rows(add, there.get(add["path"])) for add in taken)


def _info(how: How, taken: Sequence[Action], adds: Sequence[Action]) -> dict[str, Any]:
    operation, parameters = _OPERATIONS[how]
    metrics = {
        "numRemovedFiles": len(taken),
        "numRemovedBytes": sum(int(add["size"]) for add in taken),
        "numAddedFiles": len(adds),
        "numAddedBytes": sum(int(add["size"]) for add in adds),
        "numDeletionVectorsRemoved": sum(add.get("deletionVector") is not None for add in taken),
    }
    return {
        "operation": operation,
        "operationParameters": parameters,
        "operationMetrics": {name: str(value) for name, value in metrics.items()},
        "isolationLevel": "SnapshotIsolation",
        "isBlindAppend": False,
    }
