"""Rows of one commit, from what the log says of it: pure."""

from __future__ import annotations

from incremental_assets.core.errors import CommitMissing
from incremental_assets.core.report import RowCounts
from incremental_assets.core.table import TableId
from incremental_assets.engine.log import Committed
from incremental_assets.engine.note import Kind, Note


def row_counts(commit: Committed, note: Note, late: int = 0, deleted: int = 0) -> RowCounts:
    """`late` and `deleted` (of an overwrite) are not in the log; a commit found later is told without them."""
    written = note.rows if note.kind is Kind.LOADED else rows_written(commit)
    updated = commit.metrics.get("numDeletedRows", 0) if note.kind is Kind.UPSERT else 0
    return RowCounts(
        read=note.rows,
        inserted=written - updated,
        updated=updated,
        deleted=deleted,
        unchanged=max(0, note.rows - note.rejected - note.duplicates - written),
        late=late,
        quarantined=note.rejected,
    )


def rows_written(commit: Committed) -> int:
    """By one commit; Delta counts all rows of a file that got a deletion vector as copied and as output."""
    return commit.metrics.get("numOutputRows", 0) - commit.metrics.get("numCopiedRows", 0)


def check_sums(table: TableId, commit: Committed, note: Note, *, into_nothing: bool) -> None:
    """What was written must be the batch less what was rightly left out; `into_nothing`: all of it. Raises CommitMissing.

    Cheap, so it is asked after every commit: rows that Spark wrote twice, or lost, are told at once and not found months later.
    """
    written = rows_written(commit)
    landable = note.rows - note.rejected - note.duplicates
    if written > landable or (into_nothing and written != landable):
        raise CommitMissing(
            f"{table}: version {commit.version} holds {written} rows of a batch of {landable}, which must not be; run "
            f"`incremental-assets check --select {table}`, read everything again with `--full-refresh`, and report it"
        )
