"""The rows of a table as Spark will hold them, with the flags of a read, and their canonical texts for hashes."""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

from incremental_assets.adapters.databases.condition import Condition
from incremental_assets.adapters.databases.measure import NULL, SEPARATOR, placed_by_value, text_hash
from incremental_assets.adapters.databases.sqlite.sql import effective, identifier, names
from incremental_assets.adapters.databases.sqlite.types import Stored, Unfit, converter, printed
from incremental_assets.core.model.table import Column, TableSpec

_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - of values without a zone


@dataclass(frozen=True, slots=True)
class Row:
    """One row: its cursor in the comparable form, its values as Spark is to hold them and as they are stored, and the first that is not of its kind."""

    cursor: Any
    values: tuple[Any, ...]
    stored: tuple[Stored, ...]
    column: str = ""
    reason: str = ""

    @property
    def is_rejected(self) -> bool:
        """Whether it cannot land."""
        return bool(self.column)


def read_rows(connection: sqlite3.Connection, spec: TableSpec, condition: Condition) -> Iterator[Row]:
    """The rows that fulfil a condition, one by one."""
    converters = [converter(column.spark_type, column.fidelity) for column in spec.columns]
    for at, *stored in connection.execute(select(spec, condition), condition.values):
        yield _row(spec, at, stored, converters)


def select(spec: TableSpec, condition: Condition) -> str:
    """The SELECT of cursor and columns."""
    cursor = effective(spec) if spec.is_incremental else "NULL"
    return f"SELECT {cursor}, {names(spec.shape.names)} FROM {identifier(spec.id.name)} WHERE {condition.sql}"


def _row(spec: TableSpec, at: Any, stored: Sequence[Stored], converters: Sequence[Any]) -> Row:
    values: list[Any] = []
    column = reason = ""
    for place, (value, convert) in enumerate(zip(stored, converters, strict=True)):
        try:
            values.append(None if value is None else convert(value))
        except Unfit as error:
            values.append(None)
            if not column:
                column, reason = spec.shape.names[place], f"{error}, as {spec.columns[place].source_type} holds"
    return Row(at, tuple(values), tuple(stored), column, reason)


def raw(spec: TableSpec, row: Row) -> str:
    """The row as it is stored: a JSON object of texts."""
    texts = (None if value is None else printed(value) for value in row.stored)
    return json.dumps(dict(zip(spec.shape.names, texts, strict=True)))


def row_hash(columns: Sequence[Column], values: Sequence[Any]) -> int:
    """The first 60 bits of the MD5 of the row's canonical text: see `databases/measure.py`."""
    return text_hash(row_text(columns, values))


def row_text(columns: Sequence[Column], values: Sequence[Any]) -> str:
    """The canonical text of some columns of a row."""
    return SEPARATOR.join(_canonical(column, value) for column, value in zip(columns, values, strict=True))


def is_marked(spec: TableSpec, row: Row) -> bool:
    """Whether the source says in a column of the row that it is gone, and such rows leave the copy."""
    deletes = spec.deletes
    if not deletes.drops_marked:
        return False
    mark = row.values[spec.shape.names.index(deletes.column)]
    found = str(mark).lower() if isinstance(mark, bool) else str(mark)
    return mark is not None and (deletes.value is None or found == deletes.value)


def place(spec: TableSpec, row: Row) -> int:
    """Where its key lies on the line of `core.model.key_parts`; a key that Spark cannot hold lies where no copy's does."""
    by_name = dict(zip(spec.shape.names, zip(spec.columns, row.values, strict=True), strict=True))
    columns, values = zip(*(by_name[name] for name in spec.key or spec.shape.names), strict=True)
    if placed_by_value(spec):
        return -1 << 63 if values[0] is None else int(values[0])
    return row_hash(columns, values)


def key_text(spec: TableSpec, row: Row) -> str:
    """The key's canonical text, as the lake gives it; the row's hash where there is no key."""
    if not spec.key:
        return str(row_hash(spec.columns, row.values))
    by_name = dict(zip(spec.shape.names, row.values, strict=True))
    columns = [next(column for column in spec.columns if column.name == name) for name in spec.key]
    values = [by_name[name] for name in spec.key]
    if len(columns) == 1 and columns[0].spark_type == "string":
        return NULL if values[0] is None else str(values[0])
    return row_text(columns, values)


def _canonical(column: Column, value: Any) -> str:
    if value is None:
        return NULL
    match column.spark_type:
        case "double":
            return hexadecimal(value)
        case "date":
            return str((value - date(1970, 1, 1)).days)
        case "timestamp_ntz":
            return str((value - _EPOCH) // timedelta(microseconds=1))
        case "binary":
            return str(value.hex())
        case "boolean":
            return "true" if value else "false"
        case "string":
            return f"{len(value)}:{value}"
    return str(value)


def hexadecimal(value: float) -> str:
    """As Java's `%a` writes it."""
    if math.isinf(value):
        return "-Infinity" if value < 0 else "Infinity"
    mantissa, _, exponent = value.hex().partition("p")
    whole, _, fraction = mantissa.partition(".")
    return f"{whole}.{fraction.rstrip('0') or '0'}p{int(exponent)}"


def utc(text: str) -> datetime:
    """A comparable moment as one with a zone."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)
