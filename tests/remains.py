"""Where a value still is in the files of a folder: every file read raw, and decoded as what it is, as a search of compressed bytes finds nothing."""

from __future__ import annotations

import json
import sqlite3
import struct
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

Value = str | int | date
_EPOCH = date(1970, 1, 1)


def remains(folder: Path, *values: Value) -> dict[str, set[str]]:
    """By file, beside the folder, how it holds one of the values: `raw`, `decoded`, or `statistics`."""
    found: dict[str, set[str]] = {}
    for path in sorted(each for each in folder.rglob("*") if each.is_file() and not each.is_symlink()):
        if ways := set(_ways(path, values)):
            found[str(path.relative_to(folder))] = ways
    return found


def _ways(path: Path, values: tuple[Value, ...]) -> Iterator[str]:
    content = path.read_bytes()
    if any(pattern in content for value in values for pattern in _patterns(value)):
        yield "raw"
    if content[:4] == b"PAR1":
        yield from _of_parquet(path, values)
    elif content[:16] == b"SQLite format 3\0":
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as database:
            if any(_holds(each, values) for each in database.iterdump()):
                yield "decoded"
    elif path.suffix in (".json", ".crc") and _holds(_unescaped(content), values):
        yield "decoded"


def _of_parquet(path: Path, values: tuple[Value, ...]) -> Iterator[str]:
    with pq.ParquetFile(path) as file:
        # Rows that are marked as gone in the file are in it, too.
        if any(_holds(row, values) for row in file.read().to_pylist()):
            yield "decoded"
        for group in range(file.metadata.num_row_groups):
            columns = (file.metadata.row_group(group).column(place) for place in range(file.metadata.num_columns))
            kept = [column.statistics for column in columns if column.statistics is not None]
            if any(_holds([each.min, each.max], values) for each in kept if each.has_min_max):
                yield "statistics"


def _patterns(value: Value) -> tuple[bytes, ...]:
    """A text as it is, and as JSON and UTF-16 have it; a number in eight bytes, and in digits; a date in words."""
    if isinstance(value, int):
        return struct.pack("<q", value), str(value).encode()
    text = value.isoformat() if isinstance(value, date) else value
    return text.encode(), json.dumps(text)[1:-1].encode(), text.encode("utf-16-le")


def _holds(found: Any, values: tuple[Value, ...]) -> bool:
    if isinstance(found, dict):
        return any(_holds(each, values) for pair in found.items() for each in pair)
    if isinstance(found, list | tuple | set):
        return any(_holds(each, values) for each in found)
    if isinstance(found, bytes):
        return any(pattern in found for value in values for pattern in _patterns(value))
    return any(found == value or _text(value) in str(found) for value in values)


def _text(value: Value) -> str:
    return value.isoformat() if isinstance(value, date) else str(value)


def _unescaped(content: bytes) -> list[Any]:
    """Each line as JSON, with the JSON in its texts."""
    return [_read(line) for line in content.decode(errors="replace").splitlines()]


def _read(text: str) -> Any:
    try:
        found = json.loads(text)
    except ValueError:
        return text
    if isinstance(found, dict):
        return {name: _read(value) if isinstance(value, str) else value for name, value in found.items()}
    return found
