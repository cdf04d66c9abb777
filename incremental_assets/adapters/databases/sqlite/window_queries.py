"""Queries on the rows of a window: count, highest cursor, fingerprint, and the hashes that are compared with the lake's."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from incremental_assets.adapters.databases import local_rows
from incremental_assets.adapters.databases.condition import EVERY, Condition, either
from incremental_assets.adapters.databases.read_places import ReadPlaces
from incremental_assets.adapters.databases.sqlite.rows import Row, raw, read_rows
from incremental_assets.adapters.databases.sqlite.sql import (
    chosen,
    comparable,
    compared,
    effective,
    identifier,
    inside,
)
from incremental_assets.core.model.cursor import CursorValue
from incremental_assets.core.model.fingerprint import Fingerprint
from incremental_assets.core.model.measure import Measure
from incremental_assets.core.model.table import NullPolicy, TableSpec, cursor_of
from incremental_assets.core.model.window import Window, disjoint, merge


def end(connection: sqlite3.Connection, spec: TableSpec, function: str) -> CursorValue | None:
    """The smallest (`min`) or the largest (`max`) cursor of a table."""
    rows = chosen(spec, EVERY)
    sql = f"SELECT {function}({effective(spec)}) FROM {identifier(spec.id.name)} WHERE {rows.sql}"
    (found,) = connection.execute(sql, rows.values).fetchone()
    return value_of(spec, found)


def fingerprint(connection: sqlite3.Connection, spec: TableSpec, window: Window) -> Fingerprint:
    """Rows carry no versions, so that it is of what they hold."""
    nulls = cursor_of(spec).nulls is not NullPolicy.SKIP
    rows = read_rows(connection, spec, inside(spec, window, nulls=nulls))
    return local_rows.fingerprinted(spec, window, rows, partial(raw, spec), partial(value_of, spec))


def oldest(connection: sqlite3.Connection, spec: TableSpec, window: Window, above: CursorValue) -> Any:
    """The smallest cursor of a window above a value, in the comparable form."""
    rows = chosen(spec, inside(spec, window, nulls=False) & compared(effective(spec), ">", comparable(above)))
    sql = f"SELECT min({effective(spec)}) FROM {identifier(spec.id.name)} WHERE {rows.sql}"
    return connection.execute(sql, rows.values).fetchone()[0]


def measure(connection: sqlite3.Connection, spec: TableSpec, windows: Sequence[Window]) -> tuple[Measure, ...]:
    """Rows and hash of each window, of rows that could have landed; one pass unless the windows share rows."""
    if not disjoint(windows):
        return tuple(found for window in windows for found in measure(connection, spec, (window,)))
    rows = landable(connection, spec, windows)
    return local_rows.measured(spec, windows, rows, comparable, lambda cursor: cursor)


def landable(connection: sqlite3.Connection, spec: TableSpec, windows: Sequence[Window]) -> Iterator[Row]:
    """Rows of the windows that could have landed."""
    return local_rows.landable(spec, _rows(connection, spec, windows))


def placed(connection: sqlite3.Connection, spec: TableSpec, windows: Sequence[Window]) -> ReadPlaces:
    """Place and hash of each row that could have landed."""
    return local_rows.placed(spec, landable(connection, spec, windows))


def unfit(connection: sqlite3.Connection, spec: TableSpec, windows: Sequence[Window]) -> Iterator[Row]:
    """Rows of the windows that cannot land."""
    return local_rows.unfit(_rows(connection, spec, windows))


def value_of(spec: TableSpec, found: str | int | None) -> CursorValue | None:
    """The cursor value of a comparable form; None for NULL."""
    return None if found is None else CursorValue.parse(cursor_of(spec).type, str(found))


def _rows(connection: sqlite3.Connection, spec: TableSpec, windows: Sequence[Window]) -> Iterator[Row]:
    """A row without a cursor lies in no window but the one that is open on both sides."""
    condition = EVERY
    if spec.read_by is not None and windows:
        condition = either(_inside(spec, window) for window in merge(windows))
    return read_rows(connection, spec, condition)


def _inside(spec: TableSpec, window: Window) -> Condition:
    is_whole = window.lower is None and window.upper is None
    return inside(spec, window, nulls=is_whole and cursor_of(spec).nulls is not NullPolicy.SKIP)
