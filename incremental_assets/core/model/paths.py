"""Paths in the lake: every name becomes a path that opens in every Delta reader and on every store."""

from __future__ import annotations

from incremental_assets.core.errors import NameRefused
from incremental_assets.core.model.layout import layout_of
from incremental_assets.core.model.table_id import TableId

_PLAIN = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-")
_HIDDEN = frozenset(b"_.")
"""Engines take a folder that begins with one of these for their own and skip it."""
_OWNERS = "_owners"
_LONGEST = 255
"""What a file system allows one name to be."""


def encoded(name: str) -> str:
    """One name as one path segment: a byte outside `A-Z a-z 0-9 _ . -`, and a leading `_` or `.`, is written `~` and two hex digits."""
    data = name.encode()
    segment = "".join(_byte(byte, _PLAIN if place else _PLAIN - _HIDDEN) for place, byte in enumerate(data))
    if not 0 < len(segment) <= _LONGEST:
        raise NameRefused(
            f"{name!r} cannot be a folder of the lake: encoded it has {len(segment)} characters, where 1 to {_LONGEST} are possible; rename it"
        )
    return segment


def table_path(lake: str, table: TableId) -> str:
    """`{lake}/{source}/{schema}/{table}`, or where the layout of the lake puts it."""
    return "/".join((_root(lake), *map(encoded, layout_of(lake).segments(table))))


def quarantine_path(lake: str, table: TableId) -> str:
    """The table next to it for rows that could not land."""
    return _under(f"{_root(lake)}/_quarantine", table)


def staging_path(lake: str, table: TableId, batch_id: str = "") -> str:
    """One staged batch, or the folder of all batches of a table."""
    folder = _under(f"{_root(lake)}/_staging", table)
    return f"{folder}/{encoded(batch_id)}" if batch_id else folder


def tombstones_path(lake: str, table: TableId, topic: str) -> str:
    """Where the keys are kept of rows that a topic has deleted; a topic that is made anew has others."""
    return f"{_under(f'{_root(lake)}/_tombstones', table)}/{encoded(topic or '-')}"


def files_path(lake: str, table: TableId) -> str:
    """Where it is kept which files a table has been made of."""
    return _under(f"{_root(lake)}/_files", table)


def lock_path(lake: str, table: TableId) -> str:
    """The file that is locked around a commit where the lake is a local folder."""
    return _under(f"{_root(lake)}/_locks", table)


def owner_path(lake: str, table: TableId) -> str:
    """The file that says which installation writes a table."""
    return f"{_under(f'{_root(lake)}/{_OWNERS}', table)}.json"


def folder_owner_path(lake: str, table: TableId) -> str:
    """The same of the folder of its copy, in which the configuration of another installation may put another table: one file with that of the table, where the layout is as usual."""
    return _owner_of(_root(lake), table_path(lake, table))


def owner_paths_around(lake: str, table: TableId) -> tuple[str, ...]:
    """Where that file of the same folder would be for lakes that begin above or below this one."""
    copy, ours = table_path(lake, table), folder_owner_path(lake, table)
    begin = copy.index("/", copy.index("://") + 3) if "://" in copy else 0
    roots = (copy[:end] for end in range(begin, len(copy)) if copy[end] == "/")
    return tuple(path for path in (_owner_of(root, copy) for root in roots) if path != ours)


def erased_path(lake: str, table: TableId) -> str:
    """The list of keys that were erased from a table."""
    return f"{_under(f'{_root(lake)}/_erased', table)}.json"


def log_path(lake: str, source: str, folder: str = "") -> str:
    """Where what was read of a source's log is kept: in this folder, or in the lake."""
    return f"{folder or f'{_root(lake)}/_log'}/{encoded(source)}"


def is_local(place: str) -> bool:
    """Whether a lake, or where files are dropped, is a folder of this machine rather than a store with an address."""
    return "://" not in place


def _under(root: str, table: TableId) -> str:
    return "/".join((_root(root), encoded(table.source), encoded(table.schema), encoded(table.name)))


def _owner_of(root: str, folder: str) -> str:
    return f"{root}/{_OWNERS}{folder.removeprefix(root)}.json"


def _root(lake: str) -> str:
    return lake.rstrip("/")


def _byte(byte: int, plain: frozenset[int]) -> str:
    return chr(byte) if byte in plain else f"~{byte:02X}"
