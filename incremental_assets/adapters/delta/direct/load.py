"""A first load as one commit of our own: tasks write the rows straight into files of the target, side by side."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from incremental_assets.adapters.delta.arrow_staging import counting_of
from incremental_assets.adapters.delta.commit_metadata import CommitMetadata
from incremental_assets.adapters.delta.confirmed import too_late
from incremental_assets.adapters.delta.direct import eligible, log_cache
from incremental_assets.adapters.delta.direct.checkpoint import checkpoint_if_due
from incremental_assets.adapters.delta.direct.commit_file import ENGINE, put_if_absent
from incremental_assets.adapters.delta.direct.landing_unit import Columns
from incremental_assets.adapters.delta.direct.load_task import Loaded, LoadUnit
from incremental_assets.adapters.delta.direct.log_state import LogState
from incremental_assets.adapters.delta.direct.marked_file import removed
from incremental_assets.adapters.delta.direct.not_direct import NotDirect
from incremental_assets.adapters.spark.arrow_types import arrow_type
from incremental_assets.adapters.spark.tasks import Tasks
from incremental_assets.core.errors import Overtaken, StageBroken
from incremental_assets.core.model.paths import is_local
from incremental_assets.core.planning.plan import SyncPlan
from incremental_assets.core.ports import Snapshot

_TASK = "incremental_assets.adapters.delta.direct.load_task"
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
    """Replace all that is in the table by the snapshot's rows. Raises NotDirect where that is Spark's, StageBroken before anything is committed."""
    plan, snapshot, note = of.plan, of.snapshot, of.note
    state = _table(path, plan, snapshot, note.seen)
    stored = Columns.of(state)
    columns = tuple(stored.stored(each.name, each.spark_type, exactly=True) for each in plan.spec.columns)
    marks = stored.marks(plan.request.run_id, note.seq)
    kept = stored.statistics(state.properties)
    units = [
        LoadUnit(
            part=part,
            table=path,
            columns=columns,
            marks=marks,
            statistics=tuple(each.name for each in (*columns, *marks.columns) if each.name in kept),
            counting=counting_of(plan),
            rows_per_file=of.rows_per_file or _ALL,
        )
        for part in snapshot.parts
    ]
    loaded: list[Loaded] = tasks.run_all(_TASK, units)
    counts = LoadCounts(sum(each.rows for each in loaded), sum(each.future for each in loaded))
    adds = [add for each in loaded for add in each.adds]
    if counts.rows != snapshot.rows:
        _discard(path, adds)
        raise StageBroken(
            f"{plan.spec.id}: {counts.rows} rows were read where the source counts {snapshot.rows} in the same snapshot; "
            "nothing was written, run the sync again, and report it if it stays"
        )
    _commit(path, plan, state, note, adds)
    return counts


def _table(path: str, plan: SyncPlan, snapshot: Snapshot, version: int) -> LogState:
    if snapshot.parts is None or not is_local(path):
        raise NotDirect("the rows come by Spark alone, or the lake is in a store")
    if any(arrow_type(each.spark_type) is None for each in plan.spec.columns):
        raise NotDirect("a column has a type that is not known here")
    state = log_cache.at(path, version)
    if why := eligible.refused_by_table(state):
        raise NotDirect(why)
    return state


def _commit(path: str, plan: SyncPlan, state: LogState, note: CommitMetadata, adds: list[Any]) -> None:
    now = time.time_ns() // 1_000_000
    if state.sequences.get(note.app_id, -1) >= note.seq:
        _discard(path, adds)
        raise too_late(plan.spec)
    metrics = {
        "numFiles": len(adds),
        "numOutputRows": sum(json.loads(each["stats"])["numRecords"] for each in adds),
        "numOutputBytes": sum(each["size"] for each in adds),
    }
    info = {
        "timestamp": now,
        "operation": "WRITE",
        "operationParameters": {"mode": "Overwrite"},
        "readVersion": state.version,
        "isolationLevel": "Serializable",
        "isBlindAppend": False,
        "operationMetrics": {name: str(value) for name, value in metrics.items()},
        "userMetadata": note.to_json(),
        "engineInfo": ENGINE,
    }
    transaction = {"appId": note.app_id, "version": note.seq, "lastUpdated": now}
    actions = [{"commitInfo": info}, {"txn": transaction}]
    actions += [{"remove": removed(each, now)} for each in state.files.values()]
    actions += [{"add": each} for each in adds]
    if not put_if_absent(path, state.version + 1, actions):
        _discard(path, adds)
        raise Overtaken(
            f"{path}: another writer changed this table while sequence {note.seq} was being written, so nothing of it landed; run the sync again"
        )
    checkpoint_if_due(path, state.version + 1, state.checkpoint, state.properties)


def _discard(path: str, adds: list[Any]) -> None:
    """Files that no version names."""
    for each in adds:
        (Path(path) / each["path"]).unlink(missing_ok=True)
