"""Which files of a table its log names: those that readers of some version, or of a later one, still open."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pyarrow.parquet as pq

from incremental_assets.adapters.delta.log import log_cache
from incremental_assets.adapters.delta.log.commit_text import actions_of
from incremental_assets.adapters.delta.log.listing import Listing, listed
from incremental_assets.adapters.delta.log.log_state import commit_path, file_name
from incremental_assets.adapters.delta.log.readable import readable
from incremental_assets.adapters.delta.log.vector_file import file_of

_NAMES_FILES = ("add", "remove", "cdc")


@dataclass(frozen=True, slots=True)
class Referenced:
    """The names of files below the table, and the version up to which the log was read."""

    version: int
    names: frozenset[str]


def referenced(path: str, since: int) -> Referenced:
    """Files that are live at a version, and all that later ones name, with deletion vectors and change data.

    Raises NotByTasks for a log that only Delta's own readers know, or that names files elsewhere, and TargetChanged for a damaged one.
    """
    names = {name for add in log_cache.past(path, since).files.values() for name in _named(add)}
    with readable("its log"):
        found = listed(path, 0)
        for version in range(since + 1, found.last + 1):
            for action in actions_of(found.store, commit_path(path, version)):
                names.update(name for kind in _NAMES_FILES if kind in action for name in _named(action[kind]))
    return Referenced(found.last, frozenset(names))


def removed_before(names: Listing, version: int, after: datetime) -> frozenset[str]:
    """Files that the checkpoint of a version remembers as removed after a moment, by commits that the log may have no more. Raises NotByTasks."""
    name, *_ = names.checkpoints.get(version, ("",))
    if not name.endswith(".parquet"):
        return frozenset()
    with readable(f"the checkpoint {name}"), pq.ParquetFile(names.store.for_arrow(f"{names.log}/{name}")) as file:
        if "remove" not in file.schema_arrow.names:
            return frozenset()
        gone = [each["remove"] for batch in file.iter_batches(columns=["remove"]) for each in batch.to_pylist()]
    least = after.timestamp() * 1000
    return frozenset(
        name for each in gone if each and (each.get("deletionTimestamp") or 0) > least for name in _named(each)
    )


def _named(action: Mapping[str, Any]) -> Iterator[str]:
    yield file_name(action["path"])
    vector = file_of(action.get("deletionVector"))
    if vector is not None:
        yield vector
