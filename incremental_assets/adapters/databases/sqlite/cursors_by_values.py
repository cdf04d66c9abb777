"""Which columns of a table may be its cursor, by the values that they hold: the declared type says little of them."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from incremental_assets.adapters.databases.local_rows import Unfit
from incremental_assets.adapters.databases.sqlite.sql import identifier
from incremental_assets.adapters.databases.sqlite.types import Stored, day, moment
from incremental_assets.core.discovery.traits import cursor_columns
from incremental_assets.core.model.column import Column
from incremental_assets.core.model.cursor import CursorType
from incremental_assets.core.model.table_shape import Arrival, TableShape

_NUMBERED = "SELECT count(*) FROM pragma_table_list WHERE schema = 'main' AND name = ? AND type = 'table' AND NOT wr"
ROWS = 1_000
"""The rows that a sample looks at."""
_EPOCHS = tuple((946_684_800 * unit, 4_102_444_800 * unit) for unit in (1, 10**3, 10**6))
"""2000 to 2100, in seconds, milliseconds and microseconds since 1970."""


@dataclass(frozen=True, slots=True)
class Found:
    """A column that may be a cursor, and how its values are to be read."""

    column: Column
    type: CursorType
    counts_time: bool


def has_row_numbers(connection: sqlite3.Connection, table: str) -> bool:
    """Whether rows carry a number that grows with each insert: not those of a view, nor of a table without them."""
    return bool(connection.execute(_NUMBERED, (table,)).fetchone()[0])


def cursors_by_values(connection: sqlite3.Connection, shape: TableShape) -> Iterator[Found]:
    """Those of `cursor_columns`, but for the values: times that are numbers are whole ones or no cursor, and texts or whole numbers may be times."""
    known = dict(cursor_columns(shape))
    for column in shape.columns:
        declared = known.get(column)
        if declared is CursorType.INTEGER:
            yield Found(column, declared, counts_time=False)
        elif declared or column.readings or column.spark_type == "bigint":
            kind = _kind(column, declared, _values(connection, shape, column.name))
            if kind is not None:
                yield Found(column, kind, counts_time=not kind.is_time)


def _kind(column: Column, declared: CursorType | None, values: Sequence[Stored]) -> CursorType | None:
    if not values:
        return declared
    if all(isinstance(each, int) for each in values):
        readable = column.spark_type == "bigint" or "bigint" in column.readings
        return CursorType.INTEGER if readable and (declared or _are_epochs(values)) else None
    if declared:
        return None if any(isinstance(each, int | float) for each in values) else declared
    if "timestamp_ntz" in column.readings and _all(moment, values):
        return CursorType.DATETIME
    return CursorType.DATE if "date" in column.readings and _all(day, values) else None


def _values(connection: sqlite3.Connection, shape: TableShape, name: str) -> list[Stored]:
    """Of the rows that were added last, where that is known; none of a view, of which nothing is proposed."""
    if Arrival.VIEW in shape.arrivals:
        return []
    table = shape.id.name
    newest = "ORDER BY rowid DESC" if has_row_numbers(connection, table) else ""
    question = f"SELECT {identifier(name)} FROM {identifier(table)} {newest} LIMIT {ROWS}"
    return [value for (value,) in connection.execute(question) if value is not None]


def _are_epochs(values: Sequence[Any]) -> bool:
    return any(low <= min(values) and max(values) < high for low, high in _EPOCHS)


def _all(read: Callable[[Stored], object], values: Sequence[Stored]) -> bool:
    try:
        for each in values:
            read(each)
    except Unfit:
        return False
    return True
