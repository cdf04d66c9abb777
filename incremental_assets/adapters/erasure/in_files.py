"""What SQLite databases and texts beside the lake hold: the checkpoint database, Dagster's home, logs of commands."""

from __future__ import annotations

import gzip
import json
import sqlite3
import tempfile
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
IN_PLACE = "(erased)"
"""What stands in texts that cannot go as a whole."""
_REPORT = "report"
_WORDS = ("warnings", "error", "reason", "detail")
"""What of a report is words."""


def of_rows(rows: Iterable[Mapping[str, str]], search: Search, table: str) -> frozenset[Holds]:
    """Of rows of a database: a number counts where its row names the table."""
    return frozenset(how for row in rows for name in row if (how := of_cell(row, name, search, table)) is not None)


def of_cell(row: Mapping[str, str], name: str, search: Search, table: str) -> Holds | None:
    """What one column of a row holds."""
    data = row[name].encode(errors="surrogatepass")
    if search.texts.search(data):
        return Holds.TEXT
    if not search.all_texts.search(data) or not any(table in text for text in row.values()):
        return None
    if name in _POSITIONS:
        return Holds.POSITION
    return Holds.POSITION if name == _REPORT and not _said(row[name], search) else Holds.TEXT


def without(row: Mapping[str, str], name: str, search: Search) -> str:
    """The text of a column that holds something, without it: of a report its words alone, as numbers there are counts and positions."""
    if name != _REPORT or search.texts.search(row[name].encode(errors="surrogatepass")):
        return _replaced(row[name], search, numbers=name != _REPORT)
    told = json.loads(row[name])
    words = {
        each: json.loads(_replaced(json.dumps(told[each]), search, numbers=True)) for each in _WORDS if told.get(each)
    }
    return json.dumps({**told, **words}, ensure_ascii=False)


def _replaced(text: str, search: Search, *, numbers: bool) -> str:
    wanted = search.all_texts if numbers else search.texts
    return wanted.sub(IN_PLACE.encode(), text.encode(errors="surrogatepass")).decode(errors="surrogatepass")


def _said(report: str, search: Search) -> bool:
    try:
        told = json.loads(report)
    except ValueError:
        return True
    words = json.dumps({each: told.get(each) for each in _WORDS}, ensure_ascii=False)
    return search.all_texts.search(words.encode()) is not None


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
    for path in files_of(home):
        yield from of_path(path, search, table, Place.DAGSTER)


def is_database(path: Path) -> bool:
    """Whether a file is one of SQLite."""
    with path.open("rb") as file:
        return file.read(len(sqlite_file.MAGIC)) == sqlite_file.MAGIC


def files_of(home: Path) -> list[Path]:
    """All that Dagster keeps, but for what lies beside a database and belongs to it."""
    return sorted(
        path
        for path in home.rglob("*")
        if path.is_file() and not path.is_symlink() and not path.name.endswith(("-wal", "-shm", "-journal"))
    )


def logs_of_commands() -> list[Path]:
    """Of commands that have failed in a way that nobody had expected."""
    return sorted(Path(tempfile.gettempdir()).glob("incremental-assets-*.log"))


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
