"""Where in the log of its source a change is, as a number by which changes of one row are ordered: by connector, and never by text. Pure.

Of one row the place alone orders its changes: who writes it holds its lock until the commit, so that the next writer's record comes behind.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from incremental_assets.adapters.topics.record import Poison

COVERED = "PostgreSQL, MySQL and MariaDB"
"""Whose connectors' envelopes are ordered."""
_FILE = re.compile(r".*\.(\d+)", re.ASCII)
_SNAPSHOT = frozenset({"true", "first", "last", "first_in_data_collection", "last_in_data_collection"})
"""What an event says of its row that a snapshot of the whole table has read; an incremental one is read beside the log, which goes on."""
_WITHIN_FILE = 40
"""Bits for a place within a file of the binlog."""


class Uncovered(ValueError):
    """A connector whose places are not ordered here; the text is its name."""


class Place(NamedTuple):
    """A place in the log of a source."""

    number: int
    at: int
    """When the source says that it was, in microseconds since 1970; 0 where that does not count."""
    server: str = ""
    """Which server's log it is, where the event names it."""
    is_snapshot: bool = False
    """Whether a snapshot of the whole table has read the row: all rows of one snapshot name one place."""


def place_of(source: Mapping[str, Any]) -> Place:
    """Raises Uncovered, and Poison where the event lacks its place."""
    connector = source.get("connector")
    read = _CONNECTORS.get(str(connector))
    if read is None:
        raise Uncovered(str(connector))
    try:
        return read(source)
    except (KeyError, TypeError, ValueError):
        raise Poison("the envelope does not say where in the source's log it is") from None


def _postgresql(source: Mapping[str, Any]) -> Place:
    return Place(_natural(source["lsn"]), _at(source), is_snapshot=_is_snapshot(source))


def _binlog(source: Mapping[str, Any]) -> Place:
    found = _FILE.fullmatch(source["file"])
    if found is None:
        raise ValueError(source["file"])
    # A snapshot is of no server.
    server = _natural(source["server_id"])
    number = int(found[1]) << _WITHIN_FILE | _natural(source["pos"])
    return Place(number, _at(source), str(server) if server else "", _is_snapshot(source))


def _at(source: Mapping[str, Any]) -> int:
    """Nothing of an incremental snapshot, which shows a row of now at the place of the change before it."""
    return 0 if source.get("snapshot") == "incremental" else _natural(source["ts_ms"]) * 1000


def _is_snapshot(source: Mapping[str, Any]) -> bool:
    return str(source.get("snapshot")).lower() in _SNAPSHOT


def _natural(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError(value)
    return value


_CONNECTORS: Mapping[str, Callable[[Mapping[str, Any]], Place]] = {
    "postgresql": _postgresql,
    "mysql": _binlog,
    "mariadb": _binlog,
}
