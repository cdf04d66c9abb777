"""One batch as one commit of our own, where the table and the batch allow it; else it is Spark's to write."""

from __future__ import annotations

import logging
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from incremental_assets.adapters.delta.commit_metadata import CommitMetadata
from incremental_assets.adapters.delta.confirmed import too_late
from incremental_assets.adapters.delta.direct import eligible, log_cache
from incremental_assets.adapters.delta.direct.checkpoint import checkpoint_if_due
from incremental_assets.adapters.delta.direct.commit_file import ENGINE, put_if_absent
from incremental_assets.adapters.delta.direct.landing_unit import unit_of
from incremental_assets.adapters.delta.direct.log_state import LogState
from incremental_assets.adapters.delta.direct.not_direct import NotDirect
from incremental_assets.adapters.delta.direct.unit import Applied, ApplyUnit
from incremental_assets.adapters.delta.writers.choice import Way
from incremental_assets.adapters.delta.writers.landing import Landing, Written
from incremental_assets.adapters.delta.writers.merge import withdrawn
from incremental_assets.adapters.spark.error_text import words
from incremental_assets.adapters.spark.tasks import Tasks
from incremental_assets.core.errors import Overtaken
from incremental_assets.core.model.paths import is_local

_TASK = "incremental_assets.adapters.delta.direct.apply_task"
_DIED = "Python worker exited unexpectedly"
"""In Spark's words, where the system has killed it."""
_log = logging.getLogger(__name__)


def written(landing: Landing, way: Way, tasks: Tasks) -> Written | None:
    """What was committed; None where this commit is Spark's. Raises Overtaken where another writer was first.

    A MERGE may be asked for where it is not known whether any row leaves.
    """
    try:
        return _written(landing, way, tasks)
    except NotDirect as why:
        _log.debug("%s: this commit is Spark's: %s", landing.plan.spec.id, why)
        return None


def _written(landing: Landing, way: Way, tasks: Tasks) -> Written:
    if not is_local(landing.path):
        raise NotDirect("its lake is in a store")
    staged = sum(each.stat().st_size for each in Path(landing.staged).glob("*.parquet"))
    _refused(eligible.refused_by_batch(landing.plan, landing.delivery.batch, landing.changes, way, staged))
    state = log_cache.at(landing.path, landing.log.version)
    _refused(eligible.refused_by_table(state))
    if way is Way.REWRITE and not eligible.fits_whole(state):
        way = Way.REPLACE
    # Delta's own count has to be asked before the commit.
    before = landing.log.rows() if way is Way.OVERWRITE and landing.plan.overwrites and landing.found.landed else 0
    done = Applied() if way is Way.PLACE else _applied(tasks, unit_of(landing, way, state))
    note = replace(landing.note(landing.log.rows() if way is Way.REWRITE else None), withdrawn=done.left)
    info = _info(way, note, done) | {"readVersion": state.version, "isBlindAppend": _is_blind(landing, way)}
    _commit(landing, state, note, info, done)
    return Written(
        note,
        late=lambda: done.late,
        deleted=before,
        into_nothing=way is Way.OVERWRITE,
        landed=(lambda: done.written) if way is Way.REWRITE else None,
        warnings=(*landing.warnings(), *withdrawn(done.unfit)),
    )


def _applied(tasks: Tasks, unit: ApplyUnit) -> Applied:
    try:
        return tasks.run(_TASK, unit)
    except Exception as error:
        if _DIED in words(error):
            # Most likely of what it had to hold: the next sync would end like this one, and the one after it.
            raise NotDirect("its task died") from error
        raise


def _refused(why: str) -> None:
    if why:
        raise NotDirect(why)


def _commit(landing: Landing, state: LogState, note: CommitMetadata, info: dict[str, Any], done: Applied) -> None:
    """Of the version after the one that was read, whatever another hand may have done meanwhile: nothing is taken to be harmless."""
    version = state.version + 1
    if state.sequences.get(note.app_id, -1) >= note.seq:
        _discard(landing.path, done)
        raise too_late(landing.plan.spec)
    transaction = {"appId": note.app_id, "version": note.seq, "lastUpdated": info["timestamp"]}
    if not put_if_absent(landing.path, version, [{"commitInfo": info}, {"txn": transaction}, *done.actions]):
        _discard(landing.path, done)
        raise Overtaken(
            f"{landing.path}: another writer changed this table while sequence {note.seq} was being written, so nothing of it landed; run the sync again"
        )
    checkpoint_if_due(landing.path, version, state.checkpoint, state.properties)


def _discard(path: str, done: Applied) -> None:
    """Files that no version names; of a process that dies before it can do this, VACUUM removes them."""
    for name in done.files:
        (Path(path) / name).unlink(missing_ok=True)


def _info(way: Way, note: CommitMetadata, done: Applied) -> dict[str, Any]:
    """What the history shows, in the words that Spark's writer has for it, by which `counts` reads either."""
    metrics = {"numOutputRows": done.written + done.kept, "numDeletedRows": done.marked, "numCopiedRows": 0}
    if done.left:
        metrics = {"numTargetRowsInserted": done.written, "numTargetRowsDeleted": done.marked}
    metrics |= {"numFiles": sum("add" in each for each in done.actions), "numOutputBytes": done.bytes}
    return {
        "timestamp": time.time_ns() // 1_000_000,
        "operation": "MERGE" if done.left else "WRITE",
        "operationParameters": {} if done.left else {"mode": "Append" if _adds(way) else "Overwrite"},
        "isolationLevel": "Serializable",
        "operationMetrics": {name: str(value) for name, value in metrics.items()},
        "userMetadata": note.to_json(),
        "engineInfo": ENGINE,
    }


def _adds(way: Way) -> bool:
    return way in (Way.APPEND, Way.PLACE)


def _is_blind(landing: Landing, way: Way) -> bool:
    """Whether nothing of the table was read for it."""
    return _adds(way) and landing.present.overlap is None
