"""Files of which more rows are gone: what the log removes, and what it adds in their place."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow.parquet as pq
from pyroaring import BitMap64

from incremental_assets.adapters.delta.log.log_state import file_path
from incremental_assets.adapters.delta.log.readable import store_for
from incremental_assets.adapters.delta.tasks.files import deletion_vector

_KEPT = ("path", "size", "modificationTime", "tags")
_BOUNDS = re.compile(r'"tightBounds"\s*:\s*(?:true|false)\s*,\s*|\s*,?\s*"tightBounds"\s*:\s*(?:true|false)')


def removed(add: Mapping[str, Any], now: int) -> dict[str, Any]:
    """The `remove` action of a file, with the vector that it had; `now` in milliseconds since 1970."""
    vector = add.get("deletionVector")
    action = {
        "path": add["path"],
        "deletionTimestamp": now,
        "dataChange": True,
        "extendedFileMetadata": True,
        "partitionValues": {},
        "size": add["size"],
    }
    return {**action, "deletionVector": vector} if vector else action


def has_same_rows(one: Mapping[str, Any], other: Mapping[str, Any] | None) -> bool:
    """Whether a file is there as it was, with the same of its rows gone."""
    return other is not None and _vector(one) == _vector(other)


def _vector(add: Mapping[str, Any]) -> tuple[Any, ...]:
    """What tells a file's vectors apart."""
    vector = add.get("deletionVector") or {}
    return tuple(vector.get(key) for key in ("storageType", "pathOrInlineDv", "offset"))


def marked(
    table: str, gone: Iterable[tuple[Mapping[str, Any], BitMap64]], now: int
) -> tuple[list[Mapping[str, Any]], list[str]]:
    """The actions that take these rows out of their files, and the file that was written for the vectors of all of them, if one was."""
    again, dead, actions = [], [], list[Mapping[str, Any]]()
    for add, numbers in gone:
        actions.append({"remove": removed(add, now)})
        every = deletion_vector.read(table, add.get("deletionVector")) | numbers
        stats, rows = _counted(table, add)
        if len(every) < rows:
            kept = {name: add[name] for name in _KEPT if add.get(name) is not None}
            again.append(kept | {"partitionValues": {}, "dataChange": True, "stats": with_loose_bounds(stats)})
            dead.append(every)
    vectors, name = deletion_vector.write(table, dead)
    actions += [{"add": {**add, "deletionVector": vector}} for add, vector in zip(again, vectors, strict=True)]
    return actions, [name] if name else []


def _counted(table: str, add: Mapping[str, Any]) -> tuple[str, int]:
    """A file's statistics, with the number of its rows, which may have to be read for that."""
    stats = add.get("stats") or "{}"
    rows = json.loads(stats).get("numRecords")
    if rows is None:
        rows = pq.read_metadata(store_for(table).for_arrow(file_path(table, add["path"]))).num_rows
        stats = f'{{"numRecords":{rows}}}'
    return stats, int(rows)


def with_loose_bounds(stats: str) -> str:
    """A file's statistics, of which some rows are gone. In their own words: read and written again, a decimal would lose digits."""
    told = _BOUNDS.sub("", stats.strip())[:-1].rstrip()
    return f'{told}{"" if told == "{" else ","}"tightBounds":false}}'
