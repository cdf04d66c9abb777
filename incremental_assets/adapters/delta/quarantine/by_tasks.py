"""What is written to a quarantine as a commit of our own, by one task, where the tables allow it; else it is Spark's to write."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from incremental_assets.adapters.delta.commit_metadata import CommitMetadata
from incremental_assets.adapters.delta.log import log_cache
from incremental_assets.adapters.delta.log.log_state import LogState
from incremental_assets.adapters.delta.quarantine import texts
from incremental_assets.adapters.delta.quarantine.known import Known
from incremental_assets.adapters.delta.quarantine.unit import (
    Arrived,
    Came,
    CopyKeys,
    KeepUnit,
    Kept,
    KeyTexts,
    Settled,
    SettleUnit,
    Vanished,
)
from incremental_assets.adapters.delta.site import Site
from incremental_assets.adapters.delta.tasks import eligible
from incremental_assets.adapters.delta.tasks.next_version import NextVersion
from incremental_assets.adapters.spark.not_by_tasks import NotByTasks
from incremental_assets.adapters.spark.own_names import (
    CONTENT,
    DELETED_AT,
    HELD,
    REJECT_COLUMN,
    REJECT_REASON,
    RESOLUTION,
    RESOLVED_AT,
    STALE,
)
from incremental_assets.core.model.paths import quarantine_path, table_path
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.planning.plan import SyncPlan

_KEEP_TASK = "incremental_assets.adapters.delta.quarantine.keep_task"
_SETTLE_TASK = "incremental_assets.adapters.delta.quarantine.settle_task"
MOST_ROWS = 1_000_000
"""The most rows of a batch that cannot land: the task that writes them remembers a hash of each."""


def keep(site: Site, plan: SyncPlan, staged: str, note: CommitMetadata) -> int:
    """Add the rows of a batch that cannot land to its quarantine; how many of them a sync before should have seen. Raises NotByTasks, CommitMissing, Overtaken."""
    path = quarantine_path(site.lake, plan.spec.id)
    state = _table(plan.spec, path, note)
    done: Kept = site.tasks.run(_KEEP_TASK, _keeping(site.lake, plan, staged, path, state))
    adds = [] if done.add is None else [done.add]
    info = _info("WRITE", {"mode": "Append"}, {"numFiles": len(adds), "numOutputRows": done.rows})
    NextVersion(path, state, note, info, [{"add": add} for add in adds], [add["path"] for add in adds]).commit(
        plan.spec
    )
    return done.late


def settle(site: Site, spec: TableSpec, of: Came | Sequence[KeyTexts], note: CommitMetadata) -> None:
    """Resolve what a batch has overtaken, or what has a key that is gone. Raises NotByTasks, Overtaken."""
    path = quarantine_path(site.lake, spec.id)
    state = _table(spec, path, note)
    done: Settled = site.tasks.run(_SETTLE_TASK, _settling(spec, path, state, of))
    if done.rows:
        info = _info("UPDATE", {}, {"numUpdatedRows": done.rows})
        # Made again, it finds nothing that waits.
        NextVersion(path, state, note, info, done.actions, done.files, once=False).commit(spec)


def _table(spec: TableSpec, path: str, note: CommitMetadata) -> LogState:
    """The quarantine as the note has seen it. Raises NotByTasks where it is Spark's to write to."""
    state = log_cache.at(path, note.seen)
    why = texts.refused(each.spark_type for each in spec.columns) or eligible.refused_by_table(state)
    why = why or eligible.refused_to_mark(state)
    if note.rows > MOST_ROWS:
        why = f"{note.rows} rows that cannot land are more than a task takes"
    if why:
        raise NotByTasks(why)
    return state


def _info(operation: str, parameters: Mapping[str, str], metrics: Mapping[str, int]) -> Mapping[str, Any]:
    told = {name: str(value) for name, value in metrics.items()}
    return {
        "operation": operation,
        "operationParameters": parameters,
        "operationMetrics": told,
        "isBlindAppend": False,
    }


def _keeping(lake: str, plan: SyncPlan, staged: str, path: str, state: LogState) -> KeepUnit:
    spec, there = plan.spec, Known(state)
    is_told = spec.contract is not None
    is_held = is_told or there.has(HELD)
    shown = there.columns([*spec.shape.names, REJECT_REASON, REJECT_COLUMN], "string")
    marks = [there.column(HELD, "boolean")] if is_held else []
    if is_told:
        marks += [there.column(STALE, "boolean"), there.column(CONTENT, "string")]
        marks += [there.column(RESOLVED_AT, "timestamp"), there.column(RESOLUTION, "string")]
    columns = (*shown, *marks)
    own = there.table.marks(plan.request.run_id, plan.commit_ids.seq)
    kept_ends = there.table.statistics(state.properties)
    return KeepUnit(
        table=path,
        staged=staged,
        names=spec.shape.names,
        types=tuple(each.spark_type for each in spec.columns),
        key=tuple(spec.shape.names.index(name) for name in spec.key),
        columns=columns,
        texts=len(shown),
        telling=_telling(spec),
        held=is_held,
        told=is_told,
        marks=own,
        statistics=tuple(each.name for each in (*columns, *own.stored) if each.name in kept_ends),
        files=tuple(state.files.values()),
        resolved_at=there.column(RESOLVED_AT, "timestamp") if there.has(RESOLVED_AT) else None,
        copy=_copy(table_path(lake, spec.id), spec) if is_told and spec.key and not plan.overwrites else None,
    )


def _telling(spec: TableSpec) -> tuple[int, ...]:
    """Places of key and cursor; of rows without a key all, the cursor first."""
    cursor = spec.cursor_columns[:1]
    names = [*spec.key, *cursor] if spec.key else [*cursor, *spec.shape.names]
    places = {name: place for place, name in enumerate(spec.shape.names)}
    return tuple(places[name] for name in dict.fromkeys(names) if name in places)


def _copy(path: str, spec: TableSpec) -> CopyKeys | None:
    seen = log_cache.latest(path)
    if seen is None:
        return None
    if why := eligible.refused_to_read(seen.state):
        raise NotByTasks(why)
    kinds, there = {each.name: each.spark_type for each in spec.columns}, Known(seen.state)
    columns = tuple(there.column(name, kinds[name]) for name in spec.key)
    gone = there.column(DELETED_AT, "timestamp") if there.has(DELETED_AT) else None
    return CopyKeys(path, columns, tuple(seen.state.files.values()), gone)


def _settling(spec: TableSpec, path: str, state: LogState, of: Came | Sequence[KeyTexts]) -> SettleUnit:
    there = Known(state)
    columns = there.table.all()
    kept_ends = there.table.statistics(state.properties)
    return SettleUnit(
        table=path,
        files=tuple(state.files.values()),
        columns=columns,
        held=there.column(HELD, "boolean") if there.has(HELD) else None,
        resolved_at=there.column(RESOLVED_AT, "timestamp"),
        resolution=there.column(RESOLUTION, "string"),
        statistics=tuple(each.name for each in columns if each.name in kept_ends),
        at=time.time_ns() // 1000,
        of=_arrived(there, of)
        if isinstance(of, Came)
        else Vanished(tuple(there.columns(spec.key, "string")), tuple(of)),
    )


def _arrived(there: Known, came: Came) -> Arrived:
    names, key = came.spec.shape.names, () if came.overwrites else came.spec.key
    return Arrived(
        staged=came.staged,
        names=names,
        types=tuple(each.spark_type for each in came.spec.columns),
        key=tuple(names.index(name) for name in key),
        columns=tuple(there.columns(key, "string")),
        texts=tuple(
            there.column(name, "string") if there.has(name) else None for name in (*names, REJECT_REASON, REJECT_COLUMN)
        ),
        overwrites=came.overwrites,
        resolves=came.resolves.value,
    )
