"""Row counts of one commit, from its log entry: pure."""

from __future__ import annotations

from incremental_assets.adapters.delta.commit_metadata import CommitMetadata, Kind
from incremental_assets.adapters.delta.log.transaction_log import Committed
from incremental_assets.core.errors import CommitMissing
from incremental_assets.core.model.cures import check, full_refresh_of
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.planning.report import RowCounts

_IS_MERGE = "numTargetRowsInserted"


def row_counts(commit: Committed, note: CommitMetadata, late: int = 0, deleted: int = 0) -> RowCounts:
    """`late` and `deleted` (of an overwrite) are not in the log; a commit that is found later is reported without them."""
    written = note.rows if note.kind is Kind.LOADED else _rows_landed(commit, note)
    updated = _rows_gone(commit, note) if note.kind is Kind.UPSERT else 0
    return RowCounts(
        read=note.rows,
        inserted=written - updated,
        updated=updated,
        deleted=deleted + note.withdrawn + note.marked,
        unchanged=max(0, note.landable - written),
        late=late,
        quarantined=note.rejected,
    )


def _rows_landed(commit: Committed, note: CommitMetadata) -> int:
    """Rows of the batch in the target: all of them, where a commit wrote the others along."""
    return rows_written(commit) - note.marked if note.rows_before is None else note.landable


def _rows_gone(commit: Committed, note: CommitMetadata) -> int:
    """Rows of the target whose place rows of the batch took."""
    if note.rows_before is not None:
        return note.rows_before - _rows_kept(commit, note)
    if _IS_MERGE in commit.metrics:
        return commit.metrics.get("numTargetRowsDeleted", 0) - note.withdrawn - note.marked
    # An append marks a row by one more version of it.
    return commit.metrics.get("numDeletedRows", 0) - (note.marked if note.kind is Kind.UPSERT else 0)


def _rows_kept(commit: Committed, note: CommitMetadata) -> int:
    return rows_written(commit) - note.landable


def rows_written(commit: Committed) -> int:
    """The rows that one commit wrote; Delta counts all rows of a file that got a deletion vector as copied and as output."""
    if _IS_MERGE in commit.metrics:
        return commit.metrics[_IS_MERGE]
    return commit.metrics.get("numOutputRows", 0) - commit.metrics.get("numCopiedRows", 0)


def check_sums(
    table: TableId, commit: Committed, note: CommitMetadata, *, into_nothing: bool, landed: int | None = None
) -> None:
    """What was written must be the batch less what was rightly left out. Raises CommitMissing.

    `into_nothing`: all of it. `landed`: rows of the batch as they were counted on their way, where others were written along.
    Cheap, so it runs after every commit: rows that Spark wrote twice, or lost, are reported at once and not found months later.
    """
    written = rows_written(commit) - note.marked if landed is None else landed
    whole = into_nothing or note.rows_before is not None
    if written > note.landable or (whole and written != note.landable):
        raise _wrong(table, commit, f"holds {written} rows of a batch of {note.landable}")
    if note.rows_before is None:
        if (gone := _rows_gone(commit, note)) < 0:
            raise _wrong(
                table,
                commit,
                f"took {gone + note.withdrawn + note.marked} rows away where {note.withdrawn + note.marked} had to go",
            )
        return
    # A row of the batch takes the place of one at the most.
    kept = _rows_kept(commit, note)
    if not note.rows_before - note.landable <= kept <= note.rows_before:
        raise _wrong(
            table, commit, f"left {kept} of {note.rows_before} rows as they were, with a batch of {note.landable}"
        )


def _wrong(table: TableId, commit: Committed, finding: str) -> CommitMissing:
    return CommitMissing(
        f"{table}: version {commit.version} {finding}, which should never happen; run {check(table)}, "
        f"read everything again with {full_refresh_of(table)}, and report it"
    )
