"""A file of which more rows are gone: what the log removes, and what it adds in its place."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import pyarrow.parquet as pq
from pyroaring import BitMap64

from incremental_assets.adapters.delta.direct import deletion_vector
from incremental_assets.adapters.delta.direct.log_state import file_path

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


def marked_again(table: str, add: Mapping[str, Any], gone: BitMap64) -> tuple[dict[str, Any] | None, str | None]:
    """The `add` action of the same file without these rows, None where none is left; and the file of its vector, where it has one."""
    stats = add.get("stats") or "{}"
    rows = json.loads(stats).get("numRecords")
    if rows is None:
        rows = pq.read_metadata(file_path(table, add["path"])).num_rows
        stats = f'{{"numRecords":{rows}}}'
    if len(gone) >= rows:
        return None, None
    vector, name = deletion_vector.write(table, gone)
    action = {
        **{kept: add[kept] for kept in _KEPT if add.get(kept) is not None},
        "partitionValues": {},
        "dataChange": True,
        "stats": with_loose_bounds(stats),
        "deletionVector": vector,
    }
    return action, name


def with_loose_bounds(stats: str) -> str:
    """A file's statistics, of which some rows are gone. In their own words: read and written again, a decimal would lose digits."""
    told = _BOUNDS.sub("", stats.strip())[:-1].rstrip()
    return f'{told}{"" if told == "{" else ","}"tightBounds":false}}'
