"""What SQLite databases and texts beside the lake hold: the checkpoint database, Dagster's home, logs of commands."""

from __future__ import annotations

import gzip
import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from incremental_assets.adapters.erasure import sqlite_file
from incremental_assets.adapters.erasure.search import Search
from incremental_assets.core.model.erasure import Holds, Place

Look = tuple[Place, str, frozenset[Holds]]

_POSITIONS = frozenset(
    {
        "state",
        "previous_watermark",
        "new_watermark",
        "window_lower",
        "window_upper",
        "settled",
        "verified_through",
        "drifted",
    }
)
"""Columns of the checkpoint database that say how far syncs have come."""
_WORDS = ("warnings", "error", "reason", "detail")
"""What of a report is words."""


def of_rows(rows: Iterable[Mapping[str, str]], search: Search, table: str) -> frozenset[Holds]:
    """Of rows of a database: a number counts where its row names the table."""
    found: set[Holds] = set()
    for row in rows:
        for name, text in row.items():
            data = text.encode(errors="surrogatepass")
            if search.texts.search(data):
                found.add(Holds.TEXT)
            elif search.all_texts.search(data) and _is_of(row, table):
                found.add(_as_number(name, text, search))
    return frozenset(found)


def _is_of(row: Mapping[str, str], table: str) -> bool:
    return any(table in text for text in row.values())


def _as_number(name: str, text: str, search: Search) -> Holds:
    if name in _POSITIONS:
        return Holds.POSITION
    if name == "report":
        try:
            told = json.loads(text)
        except ValueError:
            return Holds.TEXT
        words = json.dumps({each: told.get(each) for each in _WORDS}, ensure_ascii=False)
        return Holds.TEXT if search.all_texts.search(words.encode()) else Holds.POSITION
    return Holds.TEXT


def of_database(path: Path, search: Search, table: str, place: Place) -> Iterator[Look]:
    """Of a database, table by table, and of what deleted rows have left in its file."""
    try:
        tables: dict[str, list[Mapping[str, str]]] = {}
        for name, row in sqlite_file.rows_of(path):
            tables.setdefault(name, []).append(row)
        is_there = False
        for name, rows in tables.items():
            found = of_rows(rows, search, table)
            is_there |= bool(found)
            yield place, f"{path} ({name})", found
        # Of a row that is there its log says nothing new.
        in_log = not is_there and sqlite_file.log_holds(path, search.all_texts)
        if in_log or sqlite_file.freed_holds(path, search.all_texts):
            yield place, str(path), frozenset({Holds.FREED})
    except sqlite3.Error:
        yield place, str(path), frozenset({Holds.UNREADABLE})


def of_home(home: Path, search: Search, table: str) -> Iterator[Look]:
    """Of all that Dagster keeps: its databases, and the output of runs."""
    for path in sorted(home.rglob("*")):
        if path.is_file() and not path.is_symlink() and not path.name.endswith(("-wal", "-shm", "-journal")):
            yield from of_path(path, search, table, Place.DAGSTER)


def of_path(path: Path, search: Search, table: str, place: Place) -> Iterator[Look]:
    """Of one file, by what it is."""
    try:
        with path.open("rb") as file:
            begin = file.read(len(sqlite_file.MAGIC))
        if begin == sqlite_file.MAGIC:
            yield from of_database(path, search, table, place)
            return
        data = path.read_bytes()
        if begin[:2] == b"\x1f\x8b":
            data = gzip.decompress(data)
    except FileNotFoundError:
        return
    except (OSError, EOFError):
        yield place, str(path), frozenset({Holds.UNREADABLE})
        return
    yield place, str(path), frozenset({Holds.TEXT}) if search.all_texts.search(data) else frozenset()
