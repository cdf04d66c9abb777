"""Follow one step: one commit of the history, under the id of the copy's table and the version that it shows from then on."""

from __future__ import annotations

import uuid
from contextlib import suppress
from datetime import UTC, datetime

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as sf

from incremental_assets.adapters.delta import commit, plane
from incremental_assets.adapters.delta.commit_metadata import CommitMetadata, Kind
from incremental_assets.adapters.delta.history import by_tasks
from incremental_assets.adapters.delta.history.following import is_shown
from incremental_assets.adapters.delta.history.logged import logged
from incremental_assets.adapters.delta.history.table import Tables, made
from incremental_assets.adapters.delta.history.versions import changed
from incremental_assets.adapters.delta.log.transaction_log import TableLog, open_log
from incremental_assets.adapters.delta.renaming import Named, by_hand, rename
from incremental_assets.adapters.delta.rollback import take_back
from incremental_assets.adapters.delta.tasks.restore import VersionGone
from incremental_assets.adapters.spark.own_names import AT, RUN_ID, SEQ, own
from incremental_assets.adapters.spark.tasks import Tasks
from incremental_assets.core.errors import CommitMissing
from incremental_assets.core.model.history import DELETED, VALID_FROM, VALID_TO, History, HistoryRows, Step
from incremental_assets.core.model.rename import RenamedAt
from incremental_assets.core.model.table import TableSpec

_ADDED, _DELETED, _ENDED = own("added"), own("gone"), own("ended")


def follow(session: SparkSession, tasks: Tasks, tables: Tables, step: Step, run_id: str) -> HistoryRows:
    """Raises CommitMissing where the history does not show the step afterwards."""
    if step.restores is not None:
        _taken_back(session, tables, step, run_id)
    for renamed in step.renames:
        _renamed(session, tables, step, renamed, run_id)
    if not step.has_rows:
        return HistoryRows()
    before = made(session, tables)
    note = CommitMetadata(Kind.HISTORY, tables.copy.app_id, step.seq, step.batch_id, run_id, step.version)
    try:
        return plane.commit(
            tables.path,
            f"{tables.spec.id}: its history follows",
            lambda: by_tasks.follow(tasks, tables, before, step, note),
            lambda: _by_spark(session, tables, before, step, note),
        ).result
    except CommitMissing:
        # A run that slept past its lease may have been first, with the same step.
        if not is_shown(step, tables.copy, open_log(tables.path)):
            raise
        return HistoryRows()


def _taken_back(session: SparkSession, tables: Tables, step: Step, run_id: str) -> None:
    """The versions as they were after the sequence whose rows a rollback has brought back; once, also where a run dies after it.

    Where they can no longer be restored, the step makes new versions of the rows that are back.
    """
    log = open_log(tables.path)
    if log is None or log.last_sequence(tables.copy.app_id) >= step.seq:
        return
    notes = ((found.version, found.note) for found in log.commits(-1) if found.note is not None)
    of_then = (version for version, note in notes if note.kind is Kind.HISTORY and note.seq <= (step.restores or 0))
    version = next(of_then, None)
    if version is None:
        return
    note = CommitMetadata(Kind.ROLLBACK, tables.copy.app_id, step.seq, step.batch_id, run_id, log.version)
    with suppress(VersionGone):
        take_back(lambda: session, tables.spec, tables.path, version, note)


def _renamed(session: SparkSession, tables: Tables, step: Step, renamed: RenamedAt, run_id: str) -> None:
    """Columns of the versions, as the copy's; where a run dies after it, the next one finds in the log that it was done.

    With nothing else to follow, the last of them shows the copy's version.
    """
    log = open_log(tables.path)
    if log is None:
        return
    copy, shows = tables.copy, not step.has_rows and renamed is step.renames[-1]
    names = f"{copy.table_id}/names"
    if log.last_sequence(names) < renamed.version or shows:
        note = CommitMetadata(Kind.RENAME, copy.app_id, step.seq, uuid.uuid4().hex, run_id, log.version)
        under = (copy.table_id, step.version) if shows else (names, renamed.version)
        cure = by_hand(tables.path, renamed.renames)
        rename(lambda: session, tables.spec, Named(tables.path, renamed.renames, note, cure, transaction=under))


def _by_spark(session: SparkSession, tables: Tables, before: TableLog, step: Step, note: CommitMetadata) -> HistoryRows:
    spec, path = tables.spec, tables.path
    marks = (
        sf.lit(note.run_id).alias(RUN_ID),
        sf.lit(step.seq).cast("bigint").alias(SEQ),
        sf.lit(datetime.now(UTC).isoformat()).cast("timestamp").alias(AT),
    )
    added = changed(session, tables, step, marks) if tables.changes is None else logged(session, tables, marks)
    rows, observed = _counted(spec, note, added)
    # Into a history without rows nothing comes that could replace one.
    replaces = spec.history is History.SCD2 and before.rows() > 0
    to = commit.Write(
        path,
        note,
        replacing=(*spec.key, VALID_FROM) if replaces else (),
        transaction=(tables.copy.table_id, step.version),
    )
    commit.write(rows, to)
    after = open_log(path)
    if after is None or not any(_is(found.note, note) for found in after.commits(before.version)):
        raise CommitMissing(
            f"{spec.id}: the log at {path} does not hold the versions that were just written; run the sync again"
        )
    found = observed.get
    return HistoryRows(found[_ADDED], found[_DELETED], found[_ENDED], after.version, after.rows())


def _is(found: CommitMetadata | None, note: CommitMetadata) -> bool:
    return found is not None and (found.kind, found.seen, found.run_id) == (note.kind, note.seen, note.run_id)


def _counted(spec: TableSpec, note: CommitMetadata, rows: DataFrame) -> tuple[DataFrame, Observation]:
    """Asked for only after the commit: of one that Delta skips, nothing is counted."""
    observed = Observation()
    # Of several versions that come together, all but the last end with them.
    was_there = sf.col(SEQ) != note.seq
    ended = sf.col(VALID_TO).isNotNull() & was_there if spec.history is History.SCD2 else sf.expr("false")
    asked = {_ADDED: ~ended & ~sf.col(DELETED), _DELETED: ~ended & sf.col(DELETED), _ENDED: ended}
    return rows.observe(observed, *(sf.count_if(those).alias(name) for name, those in asked.items())), observed
