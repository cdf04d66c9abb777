"""Rows of the shop's SQLite file as files that are dropped into a folder, and what they count and hash to: by SQL, Python's own formats and Arrow."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import json
import os
import re
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

FORMS: Mapping[str, str] = {
    "region": "csv",
    "nation": "jsonl",
    "supplier": "jsonl",
    "customer": "jsonl.gz",
    "part": "csv",
    "partsupp": "csv.gz",
    "orders": "parquet",
    "lineitem": "parquet",
}
"""How the names of a table's files end, which says what they hold."""
UNFINISHED = "unfinished"
_TABLE = re.compile(r"CREATE TABLE (\w+) \((.*?)\n\);", re.DOTALL)
_COLUMN = re.compile(r"^\s*(\w+)\s+(\w+)", re.MULTILINE)
_TYPES: Mapping[str, pa.DataType] = {
    "integer": pa.int32(),
    "bigint": pa.int64(),
    "numeric": pa.decimal128(15, 2),
    "date": pa.date32(),
    "timestamptz": pa.timestamp("us", "UTC"),
}
_UNQUOTED = ("integer", "bigint", "numeric")
_WRITTEN: Mapping[str, str] = {"numeric": "printf('%.2f', {0})", "timestamptz": "replace({0}, ' ', 'T') || 'Z'"}
_HASHED: Mapping[str, str] = {
    "numeric": "printf('%.2f', {0})",
    "date": "CAST(julianday({0}) - 2440587.5 AS INTEGER)",
    "timestamptz": "strftime('%s', {0}) * 1000000 + CAST(substr({0} || '.000', 21, 3) AS INTEGER) * 1000",
    "char": "length({0}) || ':' || {0}",
    "varchar": "length({0}) || ':' || {0}",
}
_ROWS = 64 * 1024


@dataclass(frozen=True, slots=True)
class Column:
    """`kind`: its type in `tables.sql`, without its length."""

    name: str
    kind: str


def columns_of(table: str) -> tuple[Column, ...]:
    """As `tables.sql` has them."""
    script = files("incremental_assets.demo").joinpath("tables.sql").read_text(encoding="utf-8")
    return tuple(Column(*found) for found in _COLUMN.findall(dict(_TABLE.findall(script))[table]))


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of a table that a condition chooses."""

    table: str
    where: str = "true"
    values: Sequence[Any] = ()

    def written(self, connection: sqlite3.Connection, target: Path) -> int:
        """Into a file of the table's form; how many."""
        columns = columns_of(self.table)
        found = self._texts(connection, columns, _WRITTEN)
        form = FORMS[self.table]
        if form == "parquet":
            return _written_as_parquet(target, columns, found)
        with gzip.open(target, "wb") if form.endswith(".gz") else target.open("wb") as raw:
            text = io.TextIOWrapper(raw, encoding="utf-8", newline="")
            count = (_write_csv if form.startswith("csv") else _write_json)(text, columns, found)
            text.flush()
        return count

    def measured(self, connection: sqlite3.Connection) -> tuple[int, int]:
        """How many, and the sum of their hashes."""
        count = total = 0
        for row in self._texts(connection, columns_of(self.table), _HASHED):
            text = ",".join("~" if each is None else str(each) for each in row)
            total += int(hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()[:15], 16)
            count += 1
        return count, total

    def _texts(
        self, connection: sqlite3.Connection, columns: Sequence[Column], forms: Mapping[str, str]
    ) -> sqlite3.Cursor:
        chosen = ", ".join(forms.get(each.kind, "{0}").format(each.name) for each in columns)
        return connection.execute(f"SELECT {chosen} FROM {self.table} WHERE {self.where}", tuple(self.values))  # noqa: S608 - our own words


@dataclass(frozen=True, slots=True)
class Prepared:
    """A file that nobody sees yet, and where it is going to be."""

    file: Path
    target: Path
    rows: int

    def bring(self) -> None:
        """Rename it into the folder, with the time that it has; one without rows is removed."""
        if self.rows:
            self.file.replace(self.target)
        else:
            self.file.unlink()

    def age(self, seconds: float) -> None:
        """Give it the time of a file that was written earlier, as copying programs do."""
        before = self.file.stat().st_mtime - seconds
        os.utime(self.file, (before, before))


def prepared(connection: sqlite3.Connection, rows: Rows, folder: Path, name: str) -> Prepared:
    """A file of some rows, written beside the folder, so on the same disk."""
    target = folder / rows.table / f"{name}.{FORMS[rows.table]}"
    file = folder.parent / UNFINISHED / target.relative_to(folder)
    for each in (file, target):
        each.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    return Prepared(file, target, rows.written(connection, file))


def _written_as_parquet(target: Path, columns: Sequence[Column], found: sqlite3.Cursor) -> int:
    schema = pa.schema([(each.name, _TYPES.get(each.kind, pa.string())) for each in columns])
    count = 0
    with pq.ParquetWriter(target, schema, compression="zstd") as writer:
        while rows := found.fetchmany(_ROWS):
            arrays = [
                pa.array(values).cast(field.type) for values, field in zip(zip(*rows, strict=True), schema, strict=True)
            ]
            writer.write_table(pa.table(arrays, schema=schema))
            count += len(rows)
    return count


def _write_csv(target: io.TextIOWrapper, columns: Sequence[Column], found: Iterable[Sequence[Any]]) -> int:
    writer = csv.writer(target, lineterminator="\n")
    writer.writerow([each.name for each in columns])
    count = 0
    for row in found:
        writer.writerow(row)
        count += 1
    return count


def _write_json(target: io.TextIOWrapper, columns: Sequence[Column], found: Iterable[Sequence[Any]]) -> int:
    count = 0
    for row in found:
        # A decimal keeps its digits: `json` would make a float of it.
        values = (
            f'"{each.name}": {value if each.kind in _UNQUOTED else json.dumps(value, ensure_ascii=False)}'
            for each, value in zip(columns, row, strict=True)
        )
        target.write(f"{{{', '.join(values)}}}\n")
        count += 1
    return count
