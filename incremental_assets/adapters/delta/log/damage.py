"""A damaged log stops its table: which file it is, and what helps."""

from __future__ import annotations

from incremental_assets.core.errors import TargetChanged


def damaged(log: str, name: str, what: str, cure: str = "") -> TargetChanged:
    """The error that names one file of a log. `cure`: what helps besides a backup of the file."""
    other = (
        cure
        or f"move {log.rpartition('/')[0]} away and read the table again with `incremental-assets sync --full-refresh`"
    )
    return TargetChanged(
        f"{log}/{name}: {what}, so that nobody can tell what the copy holds, and nothing was written; restore that file from a backup, or {other}"
    )
