"""One step as one commit of our own, where the tables and the step allow it; else Spark follows it.

One task follows a batch, or compares a copy whole; several share the files of a copy with whose rows a history begins.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from incremental_assets.adapters.delta import plane
from incremental_assets.adapters.delta.commit_metadata import CommitMetadata
from incremental_assets.adapters.delta.history.table import Tables
from incremental_assets.adapters.delta.history.unit import Batch, Changes, Followed, HistoryUnit, OwnColumns
from incremental_assets.adapters.delta.live import marks_deletes
from incremental_assets.adapters.delta.log import log_cache
from incremental_assets.adapters.delta.log.log_state import LogState
from incremental_assets.adapters.delta.log.transaction_log import TableLog
from incremental_assets.adapters.delta.tasks.eligible import (
    MOST_BYTES,
    refused_by_table,
    refused_to_mark,
    refused_to_read,
)
from incremental_assets.adapters.delta.tasks.files.columns import Columns
from incremental_assets.adapters.delta.tasks.files.skipping import Reach, file_may_hold, ordinal
from incremental_assets.adapters.delta.tasks.files.unit import Stored
from incremental_assets.adapters.delta.tasks.matching.sharing import spread
from incremental_assets.adapters.delta.tasks.next_version import NextVersion
from incremental_assets.adapters.spark.arrow_types import FLOATING, unknown_type
from incremental_assets.adapters.spark.not_by_tasks import NotByTasks
from incremental_assets.adapters.spark.own_names import DELETED_AT, SEQ
from incremental_assets.adapters.spark.tasks import Tasks
from incremental_assets.core.model.change_columns import tells_places
from incremental_assets.core.model.cursor import CursorType
from incremental_assets.core.model.history import DELETED, IS_CURRENT, VALID_FROM, VALID_TO, History, HistoryRows, Step
from incremental_assets.core.model.schema_drift import TargetColumn, sql_type
from incremental_assets.core.model.table import TableSpec

_TASK = "incremental_assets.adapters.delta.history.task"
_LOG_TASK = "incremental_assets.adapters.delta.history.log_task"
_BEGIN_TASK = "incremental_assets.adapters.delta.history.begin_task"
_UTC = ("UTC", "Etc/UTC")


def follow(tasks: Tasks, tables: Tables, before: TableLog, step: Step, note: CommitMetadata) -> HistoryRows:
    """What was committed. Raises NotByTasks, CommitMissing, Overtaken where another run was first."""
    _refused(_refused_by(tables, step))
    copy, history = log_cache.at(tables.copy_path, step.version), log_cache.at(tables.path, before.version)
    _refused(refused_by_table(history) or refused_to_mark(history))
    begins, whole = step.landed_at is None and not history.files, step.landed_at is None and bool(history.files)
    if whole and plane.spark_commits(tables.path):
        _refused(_refused_as_large(copy, history))
    _refused(refused_to_read(copy) if step.landed_at is None else refused_by_table(copy))
    if not begins:
        _refused(_refused_by_match(tables))
    unit = _unit(tables, step, note.run_id, copy, history)
    done = _begun(tasks, unit) if begins else tasks.run(_LOG_TASK if unit.batch.changes else _TASK, unit)
    ends = tables.spec.history is History.SCD2 and not begins
    info = {
        "operation": "WRITE",
        "operationParameters": {"mode": "Overwrite" if ends else "Append"},
        "operationMetrics": {
            "numOutputRows": str(done.added + done.deleted + done.ended),
            "numDeletedRows": str(done.ended),
            "numFiles": str(sum("add" in each for each in done.actions)),
            "numOutputBytes": str(done.bytes),
        },
        "isBlindAppend": begins,
    }
    version = NextVersion(
        tables.path, history, note, info, done.actions, done.files, (tables.copy.table_id, step.version)
    )
    version.commit(tables.spec)
    rows = before.rows() + done.added + done.deleted
    return HistoryRows(done.added, done.deleted, done.ended, history.version + 1, rows)


def _begun(tasks: Tasks, unit: HistoryUnit) -> Followed:
    """A file of versions for each few of the copy's, so that no task holds more than a row group, however many there are."""
    files = unit.batch.files
    shares = [tuple(files[place] for place in places) for places in spread(files, most=len(files))]
    units = [replace(unit, batch=replace(unit.batch, files=share)) for share in shares]
    return together(tasks.run_all(_BEGIN_TASK, units) if units else [])


def together(parts: Sequence[Followed]) -> Followed:
    """What several tasks did, as one commit. Pure."""
    return Followed(
        tuple(action for each in parts for action in each.actions),
        tuple(name for each in parts for name in each.files),
        added=sum(each.added for each in parts),
        deleted=sum(each.deleted for each in parts),
        bytes=sum(each.bytes for each in parts),
    )


def _refused(why: str) -> None:
    if why:
        raise NotByTasks(why)


def _refused_by(tables: Tables, step: Step) -> str:
    """Why a step is Spark's; empty where tasks may follow it. Pure."""
    cursor, kinds = tables.spec.cursor, [sql_type(each.type) for each in tables.columns]
    if tells_places(tables.spec):
        return "its versions tell where in the source's log they are"
    if why := unknown_type(kinds):
        return why
    if cursor and cursor.is_zoneless and step.zone not in _UTC:
        # Of hours that a zone skips or repeats, Arrow and Spark have other views.
        return "stamps are readings of a zone"
    return ""


def _refused_as_large(copy: LogState, history: LogState) -> str:
    """Why all rows of a copy are compared with their versions by Spark, which shares them out among its tasks; where it may not commit, one task does what fits into it. Pure."""
    size = sum(int(add["size"]) for state in (copy, history) for add in state.files.values())
    return f"the whole copy is compared, of {size} bytes with its versions" if size > MOST_BYTES else ""


def _refused_by_match(tables: Tables) -> str:
    """Why rows of the copy are matched with their versions by Spark. Pure."""
    kinds = {each.name.lower(): sql_type(each.type) for each in tables.columns}
    if any(kinds[name.lower()] in FLOATING for name in tables.spec.key):
        return "a part of the key is a float"
    return ""


def _unit(tables: Tables, step: Step, run_id: str, copy: LogState, history: LogState) -> HistoryUnit:
    there, here = Columns.of(copy), Columns.of(history)
    seq = there.stored(SEQ, "bigint")
    within = () if step.landed_at is None else (Reach(seq.name, "bigint", step.seq, step.seq),)
    names = [each.name.lower() for each in tables.columns]
    touched, new, changes = *moved({}, {}), _changes(tables)
    if step.whole and step.landed_at is not None and changes is None:
        before = log_cache.at(tables.copy_path, step.landed_at - 1)
        touched, new = moved(before.files, log_cache.at(tables.copy_path, step.landed_at).files)
    batch = Batch(
        table=tables.copy_path,
        columns=_stored(tables.columns, there.stored),
        seq_column=seq,
        seq=step.seq,
        files=() if changes else tuple(add for add in copy.files.values() if file_may_hold(add.get("stats"), within)),
        told=tuple(names.index(name.lower()) for name in _told(tables.spec)),
        touched=touched,
        new=new,
        whole=step.landed_at is None and bool(history.files),
        gone=there.stored(DELETED_AT, "timestamp") if marks_deletes(tables.copy.columns()) else None,
        changes=changes,
    )
    marks = here.marks(run_id, step.seq)
    validity = {}
    if tables.spec.history is History.SCD2:
        kinds = {VALID_FROM: "timestamp", VALID_TO: "timestamp", IS_CURRENT: "boolean"}
        validity = {name.removeprefix("_"): here.stored(name, kind) for name, kind in kinds.items()}
    run, number, at = marks.columns
    own = OwnColumns(here.stored(DELETED, "boolean"), run, number, at, **validity)
    columns, kept = _stored(tables.columns, here.stored), here.statistics(history.properties)
    return HistoryUnit(
        table=tables.path,
        batch=batch,
        columns=columns,
        own=own,
        key=tuple(names.index(name.lower()) for name in tables.spec.key),
        files=tuple(history.files.values()),
        statistics=tuple(each.name for each in (*columns, *own.all) if each.name in kept),
        clock=ordinal(step.clock),
        marks=marks,
    )


def _changes(tables: Tables) -> Changes | None:
    if tables.changes is None:
        return None
    places = {each.name.lower(): place for place, each in enumerate(tables.spec.columns)}
    taken = tuple(places.get(each.name.lower()) for each in tables.columns)
    return Changes(tables.changes, Path(tables.changes).stat().st_size, taken)


Moved = tuple[tuple[tuple[Mapping[str, Any], Mapping[str, Any] | None], ...], tuple[Mapping[str, Any], ...]]


def moved(before: Mapping[str, Mapping[str, Any]], after: Mapping[str, Mapping[str, Any]]) -> Moved:
    """`Batch.touched` and `Batch.new`, from the files of two versions. Pure."""
    touched = []
    for path, add in before.items():
        now = after.get(path)
        if now is None or now.get("deletionVector") != add.get("deletionVector"):
            touched.append((add, now))
    return tuple(touched), tuple(add for path, add in after.items() if path not in before)


def _stored(columns: tuple[TargetColumn, ...], stored: Callable[..., Any]) -> tuple[Stored, ...]:
    return tuple(stored(each.name, sql_type(each.type)) for each in columns)


def _told(spec: TableSpec) -> tuple[str, ...]:
    """Columns that tell when a row was changed, the first that is not NULL before the others."""
    return () if spec.cursor_type is CursorType.INTEGER else spec.cursor_columns
