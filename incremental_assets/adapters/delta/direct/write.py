"""One batch as one commit of our own, where the table and the batch allow it; the ordinary way through Spark's writer where not."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Mapping
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

from incremental_assets.adapters.delta.commit_metadata import CommitMetadata
from incremental_assets.adapters.delta.confirmed import too_late
from incremental_assets.adapters.delta.direct import eligible
from incremental_assets.adapters.delta.direct.commit_file import ENGINE, put_if_absent
from incremental_assets.adapters.delta.direct.file_statistics import statistics_columns
from incremental_assets.adapters.delta.direct.log_state import LogState, NotReplayable, replay
from incremental_assets.adapters.delta.direct.unit import Adding, Applied, ApplyUnit, LandedColumn, Marks, Replacing
from incremental_assets.adapters.delta.writers.choice import Way
from incremental_assets.adapters.delta.writers.landing import Landing, Written
from incremental_assets.adapters.spark.own_names import AT, RUN_ID, SEQ
from incremental_assets.adapters.spark.tasks import Tasks
from incremental_assets.core.errors import Overtaken
from incremental_assets.core.model.batch import KeyRange
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.paths import is_local
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.syncing.overlap import eras

_log = logging.getLogger(__name__)

_STATISTICS = "delta.dataSkippingStatsColumns"
_CHECKPOINTS = "delta.checkpointInterval"
_EVERY = 10
"""Delta's own interval of checkpoints."""


def written(landing: Landing, way: Way, tasks: Tasks) -> Written | None:
    """What was committed; None where this commit is Spark's. Raises Overtaken where another writer was first."""
    try:
        state, why = _refusal(landing, way)
        unit = None if why or state is None else _unit(landing, way, state)
    except NotReplayable as error:
        state, unit, why = None, None, str(error)
    if state is None or unit is None:
        _log.debug("%s: this commit is Spark's: %s", landing.plan.spec.id, why)
        return None
    done: Applied = tasks.run("incremental_assets.adapters.delta.direct.apply_task", unit)
    note = landing.note()
    _commit(landing, state, note, done, way)
    return Written(note, late=lambda: done.late, warnings=landing.warnings())


def _refusal(landing: Landing, way: Way) -> tuple[LogState | None, str]:
    """The state to commit to, and why not, which is asked from the cheapest question on."""
    if way not in (Way.REPLACE, Way.APPEND) or not is_local(landing.path):
        return None, f"{way} is not among the ways that are written here"
    why = eligible.refused_by_batch(landing.plan, landing.delivery.batch, landing.changes)
    if why:
        return None, why
    state = replay(landing.path, landing.log.version)
    return state, eligible.refused_by_table(state)


def _unit(landing: Landing, way: Way, state: LogState) -> ApplyUnit | None:
    plan, batch = landing.plan, landing.delivery.batch
    spelled = {there.name.lower(): there.name for there in landing.present.columns}
    columns = tuple(
        LandedColumn(place, spelled[each.name.lower()], each.spark_type) for place, each in enumerate(plan.spec.columns)
    )
    places = {each.name: place for place, each in enumerate(plan.spec.columns)}
    key = tuple(places[name] for name in plan.spec.key)
    how: Replacing | Adding
    spelled_ends: dict[str, tuple[Any, Any]] = {}
    if way is Way.REPLACE:
        within = tuple(KeyRange(columns[places[each.column]].name, each.lowest, each.highest) for each in batch.keys)
        how = Replacing(key, within, compares=landing.present.overlap is not None)
        spelled_ends = {each.column: (each.lowest, each.highest) for each in within}
    else:
        found = _adding(landing, columns, key)
        if found is None:
            return None
        how = found
        if found.cursor is not None and found.lower is not None:
            spelled_ends = {columns[found.cursor].name: (found.lower, None)}
    files = tuple(add for add in state.files.values() if _may_hold(add, spelled_ends))
    if isinstance(how, Adding):
        files = files if how.compares else ()
        if eligible.refused_by_rows(_rows(add) for add in files):
            return None
    named = statistics_columns(state.properties.get(_STATISTICS), (*(each.name for each in columns), RUN_ID, SEQ, AT))
    marks = Marks(plan.request.run_id, plan.commit_ids.seq, time.time_ns() // 1000)
    return ApplyUnit(landing.path, landing.staged, columns, how, files, marks, named)


def _adding(landing: Landing, columns: tuple[LandedColumn, ...], key: tuple[int, ...]) -> Adding | None:
    """None where columns came after rows that are compared: then they are compared era by era."""
    plan, overlap = landing.plan, landing.present.overlap
    if overlap is None:
        return Adding(compares=False)
    found = eras(plan, overlap, landing.present.columns)
    if len(found) != 1 or len(found[0].columns) != len(columns):
        return None
    cursor, lower = _lower(plan.spec, overlap.lower)
    return Adding(compares=True, version_key=key if plan.spec.key_enforced else (), cursor=cursor, lower=lower)


def _lower(spec: TableSpec, lower: CursorValue | None) -> tuple[int | None, Any]:
    """The cursor's place and the value below which no row of the target is compared; None where files are not left out by it."""
    cursor = spec.cursor
    if cursor is None or lower is None or cursor.fallback is not None or not lower.is_finite:
        return None, None
    place = next(place for place, each in enumerate(spec.columns) if each.name == cursor.column)
    if spec.columns[place].spark_type == "string":
        return None, None
    if cursor.type is CursorType.INTEGER:
        return place, int(lower.text)
    try:
        moment = lower.moment()
    except ValueError:
        return None, None
    return place, moment.date() if cursor.type is CursorType.DATE else moment


def _may_hold(add: Mapping[str, Any], ends: Mapping[str, tuple[Any, Any]]) -> bool:
    """Whether a file may have a row within all of these ends, by what the log says of it."""
    if not ends or not add.get("stats"):
        return True
    told = json.loads(add["stats"], parse_float=Decimal)
    lows, highs = told.get("minValues") or {}, told.get("maxValues") or {}
    for name, (lowest, highest) in ends.items():
        low, high = _end(lows.get(name), lowest), _end(highs.get(name), lowest)
        if name in highs and (told.get("nullCount") or {}).get(name) != 0 and highest is None:
            # A row without a cursor is compared whatever the others are.
            continue
        if low is None or high is None:
            continue
        if high < lowest or (highest is not None and low > highest):
            return False
    return True


def _end(told: Any, like: Any) -> Any:
    """An end of a file's values as Python compares it with a value; None where it is not known."""
    if isinstance(like, int):
        return told if isinstance(told, (int, Decimal)) else None
    try:
        if isinstance(like, datetime):
            # Written by some cut down to a millisecond.
            found = datetime.fromisoformat(str(told)) + timedelta(milliseconds=1)
            return found if (found.tzinfo is None) is (like.tzinfo is None) else None
        return date.fromisoformat(str(told))
    except (ValueError, OverflowError):
        return None


def _rows(add: Mapping[str, Any]) -> int | None:
    found = json.loads(add["stats"]).get("numRecords") if add.get("stats") else None
    return None if found is None else int(found)


def _commit(landing: Landing, state: LogState, note: CommitMetadata, done: Applied, way: Way) -> None:
    now, version = time.time_ns() // 1_000_000, state.version + 1
    if state.sequences.get(note.app_id, -1) >= note.seq:
        raise too_late(landing.plan.spec)
    replaces = way is Way.REPLACE
    info = {
        "timestamp": now,
        "operation": "WRITE",
        "operationParameters": {"mode": "Overwrite" if replaces else "Append"},
        "readVersion": state.version,
        "isolationLevel": "Serializable",
        "isBlindAppend": not replaces and landing.present.overlap is None,
        "operationMetrics": {
            "numFiles": str(sum("add" in each for each in done.actions)),
            "numOutputRows": str(done.written),
            "numOutputBytes": str(done.bytes),
            "numDeletedRows": str(done.marked),
            "numCopiedRows": "0",
        },
        "userMetadata": note.to_json(),
        "engineInfo": ENGINE,
    }
    transaction = {"appId": note.app_id, "version": note.seq, "lastUpdated": now}
    if not put_if_absent(landing.path, version, [{"commitInfo": info}, {"txn": transaction}, *done.actions]):
        raise Overtaken(
            f"{landing.path}: another writer changed this table while sequence {note.seq} was being written, so nothing of it landed; run the sync again"
        )
    _checkpoint(landing.path, version, state.properties)


def _checkpoint(path: str, version: int, properties: Mapping[str, str]) -> None:
    """Every so many versions, so that a reader has few to replay. The commit is there already, whatever becomes of this."""
    every = properties.get(_CHECKPOINTS, "")
    if version % (int(every) if every.isdigit() and int(every) else _EVERY):
        return
    from deltalake import DeltaTable

    try:
        table = DeltaTable(path, version=version)
        table.create_checkpoint()
        table.cleanup_metadata()
    except Exception:  # noqa: BLE001 - the next one will do
        _log.warning("%s: no checkpoint of version %s could be written", path, version, exc_info=True)
