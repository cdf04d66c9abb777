"""Did the commit land? Read from the log after every write, as only the log can tell."""

from __future__ import annotations

from incremental_assets.adapters.delta.log.transaction_log import Committed, TableLog, open_log
from incremental_assets.core.errors import CommitMissing, TargetChanged
from incremental_assets.core.model.cures import full_refresh, reset
from incremental_assets.core.model.table import TableSpec


def confirmed(spec: TableSpec, path: str, after: int, batch_id: str) -> tuple[TableLog, Committed]:
    """A write that raised nothing proves nothing: Delta skips a sequence that is not above the last without a word."""
    log = open_log(path)
    for commit in log.commits(after) if log else ():
        if log is not None and commit.note is not None and commit.note.batch_id == batch_id:
            return log, commit
    raise too_late(spec)


def too_late(spec: TableSpec) -> CommitMissing:
    """A sequence that is not above the last one never lands."""
    return CommitMissing(
        f"{spec.id}: the table's log does not hold the batch that was just written; a later sequence had landed, so this run was too late; run the sync again"
    )


def changed_meanwhile(spec: TableSpec, found: Committed) -> TargetChanged:
    """The error for a commit of another writer that changed rows while this sync ran."""
    return TargetChanged(
        f"{spec.id}: the rows were changed by another writer while this sync ran ({found.operation} in version {found.version} by {found.engine}); "
        f"read everything again with {full_refresh(spec)}, or start over with {reset(spec)}"
    )
