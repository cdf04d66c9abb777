"""Queries on the rows of a window: ends, count, fingerprint, keys, and the hashes that are compared with the lake's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from incremental_assets.adapters.databases import local_rows
from incremental_assets.adapters.databases.read_keys import ReadKeys
from incremental_assets.adapters.databases.read_places import ReadPlaces
from incremental_assets.adapters.databases.whole import Counted, check_whole
from incremental_assets.core.model.cursor import CursorValue
from incremental_assets.core.model.fingerprint import Fingerprint
from incremental_assets.core.model.measure import Measure
from incremental_assets.core.model.table import NullPolicy, TableSpec, cursor_of
from incremental_assets.core.model.window import Window, disjoint
from incremental_assets_experimental.rowwise.row_dialect import RowConnection, RowDialect
from incremental_assets_experimental.rowwise.rows import Read, raw, read_rows
from incremental_assets_experimental.rowwise.sql import (
    EVERY,
    both,
    column_of,
    cursor_columns,
    effective,
    inside,
    relation,
    rows_in,
    selected,
    without_cursor,
)


def end(dialect: RowDialect, connection: RowConnection, spec: TableSpec, function: str) -> CursorValue | None:
    """The smallest (`MIN`) or the largest (`MAX`) cursor of a table; the largest only of those that have settled, where the database tells.

    In place of the largest number of a transaction stands the one below which all are over.
    """
    if function == "MAX" and cursor_of(spec).by_transaction:
        ((number,),) = connection.rows(dialect.over)
        return value_of(spec, int(number))
    column = cursor_columns(spec)[0]
    settled = dialect.settled_rows(column) if function == "MAX" else ""
    return _one(dialect, connection, spec, f"{function}({effective(dialect, spec)})", settled or EVERY)


def lowest_of(dialect: RowDialect, connection: RowConnection, spec: TableSpec, rows: str) -> CursorValue | None:
    """The smallest cursor of the rows that fulfil a condition."""
    return _one(dialect, connection, spec, f"MIN({effective(dialect, spec)})", rows)


def without(dialect: RowDialect, connection: RowConnection, spec: TableSpec) -> int:
    """Rows without a cursor."""
    return counted(dialect, connection, spec, without_cursor(dialect, spec))


def counted(dialect: RowDialect, connection: RowConnection, spec: TableSpec, condition: str) -> int:
    """The rows that fulfil a condition, by the database's own count."""
    sql = f"SELECT {dialect.count} FROM {relation(dialect, spec.id)} WHERE {condition}"
    ((count,),) = connection.rows(sql)
    return int(count)


def fingerprint(dialect: RowDialect, connection: RowConnection, spec: TableSpec, window: Window) -> Fingerprint:
    """The fingerprint of a window's rows by their content, which is read and hashed here."""
    nulls = cursor_of(spec).nulls is not NullPolicy.SKIP
    rows = read_rows(dialect, connection, spec, inside(dialect, spec, window, nulls=nulls))
    return local_rows.fingerprinted(spec, window, rows, partial(raw, spec), partial(value_of, spec))


def measure(
    dialect: RowDialect, connection: RowConnection, spec: TableSpec, windows: Sequence[Window]
) -> tuple[Measure, ...]:
    """Rows and hash of each window, of rows that could have landed; one pass unless the windows share rows."""
    if not disjoint(windows):
        return tuple(found for window in windows for found in measure(dialect, connection, spec, (window,)))
    rows = landable(dialect, connection, spec, windows)
    return local_rows.measured(spec, windows, rows, lambda lower: lower, partial(value_of, spec))


def landable(
    dialect: RowDialect, connection: RowConnection, spec: TableSpec, windows: Sequence[Window]
) -> Iterator[Read]:
    """Rows of the windows that could have landed."""
    return local_rows.landable(spec, read_rows(dialect, connection, spec, rows_in(dialect, spec, windows)))


def unfit(dialect: RowDialect, connection: RowConnection, spec: TableSpec, windows: Sequence[Window]) -> Iterator[Read]:
    """Rows of the windows that cannot land."""
    return local_rows.unfit(read_rows(dialect, connection, spec, rows_in(dialect, spec, windows)))


def placed(dialect: RowDialect, connection: RowConnection, spec: TableSpec, windows: Sequence[Window]) -> ReadPlaces:
    """Place and hash of each row that could have landed."""
    return local_rows.placed(spec, landable(dialect, connection, spec, windows))


def read_keys(dialect: RowDialect, connection: RowConnection, spec: TableSpec, *, in_one_view: bool) -> ReadKeys:
    """All of a table's keys, in one statement; as many as there are, if the snapshot is one view. Raises SourceRefused."""
    columns = [column_of(spec, name) for name in spec.key]
    converters = [dialect.converter(column) for column in columns]
    brought = Counted(connection.rows(selected(dialect, spec, spec.key, EVERY)))
    found = ReadKeys.of(spec, local_rows.key_texts(columns, converters, brought))
    if in_one_view:
        check_whole(spec.shape, brought.count, partial(counted, dialect, connection, spec, EVERY))
    return found


def value_of(spec: TableSpec, found: Any) -> CursorValue | None:
    """The cursor value of a converted value; of a DATE cursor the day of a moment. None for NULL."""
    return None if found is None else CursorValue.of(cursor_of(spec).type, found)


def _one(dialect: RowDialect, connection: RowConnection, spec: TableSpec, sql: str, rows: str) -> CursorValue | None:
    column = cursor_columns(spec)[0]
    condition = both(f"{effective(dialect, spec)} IS NOT NULL", rows)
    found = f"SELECT {dialect.shown(column, sql)} FROM {relation(dialect, spec.id)} WHERE {condition}"
    ((value,),) = connection.rows(found)
    return None if value is None else value_of(spec, dialect.converter(column)(value))
