"""One batch as one commit of our own, where the table and the batch allow it; else it is Spark's to write."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from incremental_assets.adapters.delta.commit import column_metadata
from incremental_assets.adapters.delta.log import log_cache, vectors
from incremental_assets.adapters.delta.log.added_columns import AddedColumn, with_added
from incremental_assets.adapters.delta.log.log_state import LogState
from incremental_assets.adapters.delta.plane import spark_commits
from incremental_assets.adapters.delta.tasks import eligible
from incremental_assets.adapters.delta.tasks.files.unit import Applied, ApplyUnit
from incremental_assets.adapters.delta.tasks.landing_unit import unit_of
from incremental_assets.adapters.delta.tasks.matching.applied import copies, together
from incremental_assets.adapters.delta.tasks.matching.sharing import shares
from incremental_assets.adapters.delta.tasks.next_version import NextVersion
from incremental_assets.adapters.delta.writers.choice import Way
from incremental_assets.adapters.delta.writers.landing import Landing, Written
from incremental_assets.adapters.delta.writers.merge import withdrawn
from incremental_assets.adapters.spark.manifest import staged_files
from incremental_assets.adapters.spark.not_by_tasks import NotByTasks
from incremental_assets.adapters.spark.tasks import Tasks
from incremental_assets.core.model.schema_drift import Difference

_TASK = "incremental_assets.adapters.delta.tasks.matching.apply_task"
_SHARE_TASK = "incremental_assets.adapters.delta.tasks.matching.share_task"
_COPY_TASK = "incremental_assets.adapters.delta.tasks.matching.copy_task"
_log = logging.getLogger(__name__)


def write(landing: Landing, way: Way, tasks: Tasks) -> Written:
    """What was committed. Raises NotByTasks, and Overtaken where another writer was first.

    A MERGE may be asked for where it is not known whether any row leaves.
    """
    staged = 0 if landing.delivery.batch.in_target else sum(each.bytes for each in staged_files(landing.staged))
    if way is Way.REWRITE and landing.delivery.batch.rows > eligible.MOST_ROWS:
        way = Way.REPLACE
    state, columns, left = _with_columns(landing)
    _refused(eligible.refused_by_batch(landing.plan, landing.delivery.batch, left, way, staged))
    _refused(eligible.refused_by_table(state))
    # Delta's own count has to be asked before the commit.
    before = landing.log.rows() if way is Way.OVERWRITE and landing.plan.overwrites and landing.found.landed else 0
    done = Applied() if way is Way.PLACE else _applied(tasks, unit_of(landing, way, state), landing.delivery.batch.rows)
    note = replace(
        landing.note(landing.log.rows() if way is Way.REWRITE else None), withdrawn=done.left, marked=done.flagged
    )
    info = _info(way, done) | {"isBlindAppend": _is_blind(landing, way)}
    # With columns that come, one action says both.
    given_up = vectors.given_up(state, landing.plan.spec.readers) if way is Way.OVERWRITE else ()
    NextVersion(landing.path, state, note, info, (*(given_up or columns), *done.actions), done.files).commit(
        landing.plan.spec
    )
    return Written(
        note,
        late=lambda: done.late,
        deleted=before,
        into_nothing=way is Way.OVERWRITE,
        landed=(lambda: done.written) if way is Way.REWRITE else None,
        warnings=(*landing.warnings(), *withdrawn(done.unfit)),
    )


def _with_columns(landing: Landing) -> tuple[LogState, Sequence[Mapping[str, Any]], Difference]:
    """The table, what the commit says of columns that it brings, and the differences that are left. Where Spark may bring them, they are Spark's."""
    state, changes = log_cache.at(landing.path, landing.log.version), landing.changes
    if not changes.added or spark_commits(landing.path):
        return state, (), changes
    columns = [
        AddedColumn(each.name, each.spark_type, column_metadata(landing.plan, each.comment, is_added=True))
        for each in changes.added
    ]
    # A column that the source no longer has stays, and is NULL in what comes; an overwrite would take it away.
    left = Difference(dropped=changes.dropped if landing.plan.overwrites else (), retyped=changes.retyped)
    return *with_added(state, columns), left


def _applied(tasks: Tasks, unit: ApplyUnit, rows: int) -> Applied:
    parts = shares(unit, rows)
    if len(parts) == 1:
        return tasks.run(_TASK, unit)
    done = tasks.run_all(_SHARE_TASK, parts)
    anew = copies(unit, done)
    return together(unit, done, tasks.run_all(_COPY_TASK, anew) if anew else ())


def _refused(why: str) -> None:
    if why:
        raise NotByTasks(why)


def _info(way: Way, done: Applied) -> dict[str, Any]:
    """What the history shows, in the words that Spark's writer has for it, by which `counts` reads either."""
    metrics = {
        "numOutputRows": done.written + done.kept + done.flagged,
        "numDeletedRows": done.marked,
        "numCopiedRows": 0,
    }
    if done.left:
        metrics = {"numTargetRowsInserted": done.written + done.flagged, "numTargetRowsDeleted": done.marked}
    metrics |= {"numFiles": sum("add" in each for each in done.actions), "numOutputBytes": done.bytes}
    return {
        "operation": "MERGE" if done.left else "WRITE",
        "operationParameters": {} if done.left else {"mode": "Append" if _adds(way) else "Overwrite"},
        "operationMetrics": {name: str(value) for name, value in metrics.items()},
    }


def _adds(way: Way) -> bool:
    return way in (Way.APPEND, Way.PLACE)


def _is_blind(landing: Landing, way: Way) -> bool:
    """Whether nothing of the table was read for it."""
    return _adds(way) and landing.present.overlap is None
