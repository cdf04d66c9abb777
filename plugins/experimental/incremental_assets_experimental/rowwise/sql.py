"""The conditions of a window on a cursor, for any database: comparisons and their joins alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from incremental_assets.core.model.column import Column
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.table import NullPolicy, TableSpec, cursor_of
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.model.window import Window, merge
from incremental_assets.core.planning.plan import SyncPlan
from incremental_assets_experimental.rowwise.row_dialect import RowDialect

EVERY, NONE = "1 = 1", "1 = 0"
"""Conditions for all rows and for none: there are databases without a word for truth."""


def both(one: str, other: str) -> str:
    """Rows that fulfil two conditions."""
    return other if one == EVERY else one if other == EVERY else f"({one}) AND ({other})"


def either(conditions: Iterable[str]) -> str:
    """Rows that fulfil one of them."""
    return " OR ".join(f"({each})" for each in conditions) or NONE


def relation(dialect: RowDialect, table: TableId) -> str:
    """A table by its full name."""
    return f"{dialect.identifier(table.schema)}.{dialect.identifier(table.name)}"


def selected(dialect: RowDialect, spec: TableSpec, names: Sequence[str], condition: str) -> str:
    """A whole SELECT of some columns."""
    columns = ", ".join(dialect.shown(column_of(spec, name), dialect.identifier(name)) for name in names)
    return f"SELECT {columns} FROM {relation(dialect, spec.id)} WHERE {condition}"


def column_of(spec: TableSpec, name: str) -> Column:
    """A column of the table."""
    return next(column for column in spec.columns if column.name == name)


def cursor_columns(spec: TableSpec) -> tuple[Column, ...]:
    """The cursor, then its fallback."""
    cursor = cursor_of(spec)
    return tuple(column_of(spec, name) for name in cursor.columns)


def effective(dialect: RowDialect, spec: TableSpec) -> str:
    """The cursor of a row: the fallback where it is NULL."""
    own = [dialect.identifier(column.name) for column in cursor_columns(spec)]
    return own[0] if len(own) == 1 else f"COALESCE({', '.join(own)})"


def without_cursor(dialect: RowDialect, spec: TableSpec) -> str:
    """Rows that have none."""
    return f"{effective(dialect, spec)} IS NULL"


def inside(dialect: RowDialect, spec: TableSpec, window: Window, *, nulls: bool) -> str:
    """Rows of a window; `nulls` adds those without a cursor."""
    found = f"{effective(dialect, spec)} IS NOT NULL"
    for sign, end in ((">=", window.lower), ("<", window.upper)):
        if end is not None:
            found = both(found, beyond(dialect, spec, sign, end))
    return either((found, without_cursor(dialect, spec))) if nulls else found


def beyond(dialect: RowDialect, spec: TableSpec, sign: str, end: CursorValue) -> str:
    """Rows whose cursor lies on one side of a value."""
    side = _outside(end)
    if side:
        return EVERY if (sign[0] == ">") == (side < 0) else NONE
    cursor, *fallback = cursor_columns(spec)
    value = effective(dialect, spec)
    found = dialect.beyond(cursor, value, sign, end)
    if not fallback or fallback[0].source_type == cursor.source_type:
        return found
    # Each in its own type: what they have in common is the database's choice.
    own, other = (dialect.identifier(column.name) for column in (cursor, fallback[0]))
    return either(
        (
            both(f"{own} IS NOT NULL", dialect.beyond(cursor, own, sign, end)),
            both(f"{own} IS NULL", dialect.beyond(fallback[0], other, sign, end)),
        )
    )


def rows_of(dialect: RowDialect, plan: SyncPlan) -> str:
    """The condition for the rows that a plan reads. A backfill reads no rows without a cursor, as every sync reads them anyway."""
    if plan.spec.read_by is None:
        return EVERY
    skips = cursor_of(plan.spec).nulls is NullPolicy.SKIP or plan.request.mode.reads_again
    return inside(dialect, plan.spec, plan.reading.window, nulls=not skips)


def rows_in(dialect: RowDialect, spec: TableSpec, windows: Sequence[Window]) -> str:
    """A row without a cursor lies in no window but the one that is open on both sides."""
    if spec.read_by is None or not windows:
        return EVERY
    return either(_part(dialect, spec, window) for window in merge(windows))


def _part(dialect: RowDialect, spec: TableSpec, window: Window) -> str:
    is_whole = window.lower is None and window.upper is None
    return inside(dialect, spec, window, nulls=is_whole and cursor_of(spec).nulls is not NullPolicy.SKIP)


def _outside(end: CursorValue) -> int:
    """-1 or 1 of a value below or above all that a column can hold, 0 of any other."""
    if not end.is_finite:
        return -1 if end.text.startswith("-") else 1
    if end.type is CursorType.INTEGER:
        return 0
    try:
        end.moment()
    except ValueError:
        return -1 if end.text.endswith("BC") else 1
    return 0
