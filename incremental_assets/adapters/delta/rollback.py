"""Take a table of the lake, and its quarantine, back to an earlier version: one commit each, with a sequence that Delta accepts once."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from incremental_assets.adapters.delta import plane
from incremental_assets.adapters.delta.beside import recorded
from incremental_assets.adapters.delta.commit_metadata import QUARANTINE_SUFFIX, CommitMetadata, Kind
from incremental_assets.adapters.delta.confirmed import confirmed
from incremental_assets.adapters.delta.errors import explained
from incremental_assets.adapters.delta.log.transaction_log import TableLog, open_log
from incremental_assets.adapters.delta.storage import commit_lock
from incremental_assets.adapters.delta.tasks.restore import VersionGone, restore
from incremental_assets.adapters.spark.error_text import words
from incremental_assets.core.errors import Refused, TargetChanged
from incremental_assets.core.model.cures import check, full_refresh
from incremental_assets.core.model.paths import quarantine_path, table_path
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.planning.plan import CommitIds, RollBack
from incremental_assets.core.planning.report import RowCounts
from incremental_assets.core.planning.target import Commit

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Session = Callable[[], "SparkSession"]

_log = logging.getLogger(__name__)

_GONE = (
    "[FAILED_READ_FILE.FILE_NOT_EXIST]",
    "[DELTA_NO_RECREATABLE_HISTORY_FOUND]",
    "[DELTA_STATE_RECOVER_ERROR]",
    "[DELTA_TRUNCATED_TRANSACTION_LOG]",
    "[DELTA_UNSUPPORTED_TIME_TRAVEL_BEYOND_DELETED_FILE_RETENTION_DURATION]",
    "[DELTA_VERSIONS_NOT_CONTIGUOUS]",
    "[DELTA_VERSION_NOT_FOUND]",
)
"""How Spark and Delta say that files or the log of a version are no longer there; any other error may be temporary."""


def roll_back(session: Session, lake: str, spec: TableSpec, back: RollBack, state: State) -> Commit:
    """See `core.ports.LakeWriter`."""
    path, names = table_path(lake, spec.id), back.commit_ids
    with explained(spec.id, lake), commit_lock(lake, spec.id):
        log = open_log(path)
        if log is None or log.app_id != names.app_id:
            raise TargetChanged(f"{spec.id}: the table at {path} is not the one that was to be rolled back")
        with _gone_explained(spec, back.version):
            note = recorded(log).noted(CommitMetadata.of_rollback(back, state, log.version))
            take_back(session, spec, path, back.version, note)
        after, done = confirmed(spec, path, log.version, names.batch_id)
    return Commit(after.table_id, done.version, RowCounts(), state, rolled_back_to=back.seq)


def roll_back_quarantine(session: Session, lake: str, spec: TableSpec, commit_ids: CommitIds, to_seq: int) -> None:
    """See `core.ports.LakeWriter`."""
    path = quarantine_path(lake, spec.id)
    names = replace(commit_ids, app_id=f"{commit_ids.app_id}{QUARANTINE_SUFFIX}")
    with explained(spec.id, lake), commit_lock(lake, spec.id):
        log = open_log(path)
        version = _quarantine_version(log, names.app_id, to_seq) if log else None
        if log is None or version is None:
            return
        back = RollBack(names, "", version, to_seq)
        try:
            take_back(session, spec, path, version, CommitMetadata.of_rollback(back, None, log.version))
        except VersionGone as gone:
            # The copy has been taken back by now. To refuse would leave a rollback that no run can complete.
            _log.warning(
                "%s: its quarantine stays as it is, as version %s of it can no longer be restored: %s; a row that left it since may be missing in the "
                "copy, which %s finds",
                spec.id,
                version,
                gone,
                check(spec.id),
            )
            return
        confirmed(spec, path, log.version, names.batch_id)


def take_back(session: Session, spec: TableSpec, path: str, version: int, note: CommitMetadata) -> None:
    """Commits the rows and columns of a version again; where we may not commit ourselves, Spark writes all of the rows. Raises VersionGone, CommitMissing, Overtaken."""
    plane.commit(
        path,
        f"{spec.id}: the rows of version {version} are written again",
        lambda: restore(spec, path, version, note),
        lambda: _written_again(session(), path, version, note),
    )


def _written_again(session: SparkSession, path: str, version: int, note: CommitMetadata) -> None:
    from incremental_assets.adapters.delta.commit import Write, write

    try:
        rows = session.read.format("delta").option("versionAsOf", str(version)).load(path)
        write(rows, Write(path, note, overwrites=True, evolves=True))
    except Exception as error:
        if not any(gone in words(error) for gone in _GONE):
            raise
        raise VersionGone(f"its files or its log are no longer whole ({type(error).__name__})") from error


@contextmanager
def _gone_explained(spec: TableSpec, version: int) -> Iterator[None]:
    """Raises Refused in place of VersionGone."""
    try:
        yield
    except VersionGone as gone:
        raise Refused(
            f"{spec.id}: version {version} of the copy can no longer be restored: {gone}, so nothing was changed; choose a later run, or read "
            f"everything again with {full_refresh(spec)}"
        ) from gone


def _quarantine_version(log: TableLog, app_id: str, to_seq: int) -> int | None:
    """The version of a quarantine after a sequence; None where it has not changed since, or holds rows of another table of the name.

    Version 0 is the table without a row.
    """
    if log.app_id != app_id:
        return None
    ours = [
        commit
        for commit in log.ours()
        if commit.note is not None and commit.note.kind in (Kind.QUARANTINE, Kind.ROLLBACK)
    ]
    later = [commit for commit in ours if commit.note is not None and commit.note.seq > to_seq]
    if not later:
        return None
    newest = later[0]
    if newest.note is not None and newest.note.rolled_back_to == to_seq and newest.version == log.version:
        return None
    return later[-1].version - 1
