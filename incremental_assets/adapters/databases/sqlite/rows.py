"""The rows of a table as Spark will hold them, with the flags of a read."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from incremental_assets.adapters.databases.condition import Condition
from incremental_assets.adapters.databases.local_rows import Unfit
from incremental_assets.adapters.databases.sqlite.sql import effective, identifier, names
from incremental_assets.adapters.databases.sqlite.types import Stored, converters, printed
from incremental_assets.core.model.table import TableSpec


@dataclass(frozen=True, slots=True)
class Row:
    """One row: its cursor in the comparable form, its values as Spark is to hold them and as they are stored, and the first that is not of its kind."""

    cursor: Any
    values: tuple[Any, ...]
    stored: tuple[Stored, ...]
    column: str = ""
    reason: str = ""


def read_rows(connection: sqlite3.Connection, spec: TableSpec, condition: Condition) -> Iterator[Row]:
    """The rows that fulfil a condition, one by one."""
    each = converters(spec, spec.columns)
    for at, *stored in connection.execute(select(spec, condition), condition.values):
        yield _row(spec, at, stored, each)


def select(spec: TableSpec, condition: Condition) -> str:
    """The SELECT of cursor and columns."""
    cursor = effective(spec) if spec.is_incremental else "NULL"
    return f"SELECT {cursor}, {names(spec.shape.names)} FROM {identifier(spec.id.name)} WHERE {condition.sql}"


def _row(spec: TableSpec, at: Any, stored: Sequence[Stored], each: Sequence[Any]) -> Row:
    values: list[Any] = []
    column = reason = ""
    for place, (value, convert) in enumerate(zip(stored, each, strict=True)):
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


def utc(text: str) -> datetime:
    """A comparable moment as one with a zone."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)
