"""The last commit of a log, and whether its files look whole: by their names, ends, and one beginning, as a look at a table that stands still reads no more."""

from __future__ import annotations

import re

from incremental_assets.adapters.delta.log import log_cache
from incremental_assets.adapters.delta.log.checkpoint import check_whole
from incremental_assets.adapters.delta.log.damage import damaged
from incremental_assets.adapters.delta.log.listing import Listing, commit_name
from incremental_assets.adapters.spark.not_by_tasks import NotByTasks
from incremental_assets.core.planning.target import NO_TABLE, LastCommit

_END = 8
"""Bytes at the end of a commit that are read: line feeds may follow its last action."""
_START = 4096
"""Bytes at its beginning, where what it says of itself stands in all commits of ours."""
_OURS = re.compile(
    rb'\\"incremental_assets\\":\d+,\\"kind\\":\\"\w+\\",\\"app_id\\":\\"([^"\\]+)\\",\\"seq\\":(\d+),(?:\\"quarantine\\":(\d+),)?'
)


def last_commit(path: str) -> LastCommit | None:
    """The last commit of a table; None for one that only Spark can reach. Raises TargetChanged where a file that a reader needs is missing, empty or cut."""
    try:
        names = log_cache.known_on(path)
    except NotByTasks:
        return None
    except FileNotFoundError:
        return LastCommit(NO_TABLE)
    if names.last < 0:
        return LastCommit(NO_TABLE)
    names.check_contiguous()
    if names.store.promises.whole:
        return _told(names)
    begin = names.checkpoint(names.last)
    for name in names.checkpoints.get(begin, ()):
        check_whole(names, begin, name)
    for version in range(begin + 1, names.last + 1):
        _check_end(names, version)
    return _told(names)


def _told(names: Listing) -> LastCommit:
    """Nothing but the version of a commit that is another writer's, or that only a checkpoint tells of."""
    try:
        found = _OURS.search(names.store.read(f"{names.log}/{commit_name(names.last)}", 0, _START))
    except FileNotFoundError:
        found = None
    if found is None:
        return LastCommit(names.last)
    return LastCommit(names.last, found[1].decode(), int(found[2]), int(found[3]) if found[3] else None)


def _check_end(names: Listing, version: int) -> None:
    name = commit_name(version)
    _, end = names.store.end(f"{names.log}/{name}", _END)
    if not end.rstrip().endswith(b"}"):
        raise damaged(names.log, name, f"this version of the log is {'cut' if end.strip() else 'empty'}")
