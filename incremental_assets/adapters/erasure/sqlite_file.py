"""What a file of SQLite holds: its rows, the pages and parts of pages that deleted rows have left, and the log of changes beside it."""

from __future__ import annotations

import re
import sqlite3
import struct
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

MAGIC = b"SQLite format 3\0"
_BESIDE = ("-wal", "-journal")
_INTERIOR, _LEAF = (2, 5), (10, 13)
_POINTER = 4
"""Bytes by which a page of a long row names the next one."""

Rows = Iterator[tuple[str, dict[str, str]]]


def rows_of(path: Path) -> Rows:
    """Each row of each table, as the texts of its columns. Raises sqlite3.Error."""
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as database:
        database.text_factory = lambda data: data.decode(errors="replace")
        tables = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        for (table,) in tables:
            cursor = database.execute(f'SELECT * FROM "{table.replace(chr(34), chr(34) * 2)}"')  # noqa: S608 - a name of the file's own
            names = [each[0] for each in cursor.description]
            for row in cursor:
                yield table, {name: _text(value) for name, value in zip(names, row, strict=True) if value is not None}


def freed_holds(path: Path, wanted: re.Pattern[bytes]) -> bool:
    """Whether bytes of the file that no row has any more hold something: they stay until it is written anew."""
    return any(wanted.search(part) for part in _freed(path.read_bytes()))


def log_holds(path: Path, wanted: re.Pattern[bytes]) -> bool:
    """Whether the log of changes beside it does, of rows that are there and of others."""
    return any(wanted.search(beside.read_bytes()) for beside in _beside(path))


def _beside(path: Path) -> Iterator[Path]:
    for end in _BESIDE:
        beside = path.with_name(path.name + end)
        if beside.is_file():
            yield beside


def _freed(data: bytes) -> Iterator[bytes]:
    (told,) = struct.unpack_from(">H", data, 16)
    size = 65_536 if told == 1 else told
    free = _free_pages(data, size)
    # As one: a row that was longer than a page lies in several, which follow each other where it was written at once.
    for number in sorted(free):
        page = data[(number - 1) * size : number * size]
        yield page
        following = struct.unpack_from(">I", page)[0]
        if 0 < following <= len(data) // size:
            yield page[-256:] + data[(following - 1) * size + _POINTER : (following - 1) * size + 256]
        yield page[-256:] + data[number * size + _POINTER : number * size + 256]
    for number in range(1, len(data) // size + 1):
        if number not in free:
            yield from _unallocated(data, number, size)


def _free_pages(data: bytes, size: int) -> set[int]:
    found: set[int] = set()
    (trunk,) = struct.unpack_from(">I", data, 32)
    while trunk and trunk not in found:
        found.add(trunk)
        at = (trunk - 1) * size
        following, count = struct.unpack_from(">II", data, at)
        count = min(count, size // _POINTER - 2)
        found.update(struct.unpack_from(f">{count}I", data, at + 8))
        trunk = following
    return found


def _unallocated(data: bytes, number: int, size: int) -> Iterator[bytes]:
    """Of a page of a tree, what no cell of it is in."""
    page = data[(number - 1) * size : number * size]
    at = 100 if number == 1 else 0
    kind, block, cells, begin = struct.unpack_from(">BHHH", page, at)
    if kind not in (*_INTERIOR, *_LEAF) or begin > size:
        return
    yield page[at + (12 if kind in _INTERIOR else 8) + 2 * cells : begin or size]
    while 0 < block <= size - 4:
        following, length = struct.unpack_from(">HH", page, block)
        yield page[block : block + length]
        if following <= block:
            return
        block = following


def _text(value: object) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)
