"""The last version of a log, and whether its files look whole: by their names and ends, as a look at a table that stands still reads no more."""

from __future__ import annotations

from incremental_assets.adapters.delta.log.checkpoint import check_whole
from incremental_assets.adapters.delta.log.damage import damaged
from incremental_assets.adapters.delta.log.listing import Listing, commit_name, listed
from incremental_assets.adapters.delta.log.plain_file import plain_end
from incremental_assets.core.model.paths import is_local
from incremental_assets.core.syncing.foreign_changes import NO_TABLE

_END = 8
"""Bytes of a commit that are read: line feeds may follow its last action."""


def last_version(path: str) -> int | None:
    """The last version of a local table: -1 where there is no table; None for one in a store. Raises TargetChanged where a file that a reader needs is missing, empty or cut."""
    if not is_local(path):
        return None
    try:
        names = listed(path)
    except FileNotFoundError:
        return NO_TABLE
    if names.last < 0:
        return NO_TABLE
    names.check_contiguous()
    begin = names.checkpoint(names.last)
    for name in names.checkpoints.get(begin, ()):
        check_whole(names, begin, name)
    for version in range(begin + 1, names.last + 1):
        _check_end(names, version)
    return names.last


def _check_end(names: Listing, version: int) -> None:
    name = commit_name(version)
    _, end = plain_end(names.log / name, _END)
    if not end.rstrip().endswith(b"}"):
        raise damaged(names.log, name, f"this version of the log is {'cut' if end.strip() else 'empty'}")
