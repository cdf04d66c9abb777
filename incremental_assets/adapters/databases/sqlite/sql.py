"""SQLite's syntax: identifiers, and the WHERE of a window on a cursor.

A cursor is compared by a function of ours, which gives whole numbers as they are and moments in one canonical text, and NULL for a stored value
that is neither: so a row whose stamp is not one is a row without a cursor. Before it stands a condition that an index answers.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta

from incremental_assets.adapters.databases import chosen_rows
from incremental_assets.adapters.databases.condition import EVERY, Condition
from incremental_assets.adapters.databases.local_rows import Unfit
from incremental_assets.adapters.databases.sqlite.types import Stored, day, moment, whole, zone_of
from incremental_assets.core.checks.doctor import SourceFacts
from incremental_assets.core.model.column import Column
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.row_condition import Constant
from incremental_assets.core.model.table import TableSpec, cursor_of
from incremental_assets.core.model.window import Window

_FUNCTION = "_sync_cursor"
_LOCAL = "local"
"""In place of the type, of moments of another zone than UTC."""
_UTC = ("UTC", "Etc/UTC", "Z", "Etc/Zulu")


def identifier(name: str) -> str:
    """A name in backticks: in double quotes one that is no column any more would be taken for a text."""
    doubled = name.replace("`", "``")
    return f"`{doubled}`"


def install(connection: sqlite3.Connection) -> None:
    """Make the function known on a connection."""
    connection.create_function(_FUNCTION, 2, _sortable, deterministic=True)


def chosen(spec: TableSpec, rows: Condition) -> Condition:
    """Those of the rows that the configuration chooses: what every statement reads."""
    return chosen_rows.chosen(spec, rows, _WORDS)


class _Words:
    """Implements `chosen_rows.Words`. Moments are compared in the canonical form, however they are spelt."""

    def side(self, column: Column, values: Sequence[Constant]) -> str:
        kind = _time_of(column)
        return comparable_sql(column.name, kind) if values and kind else identifier(column.name)

    def value(self, column: Column, value: Constant) -> Condition:
        if value.kind == "text":
            kind = _time_of(column)
            text = comparable(CursorValue.parse(kind, value.text)) if kind else value.text
            return Condition("?", (text,))
        return Condition({"true": "1", "false": "0"}.get(value.text, value.text))


_WORDS = _Words()
_TIMES = {"date": CursorType.DATE, "timestamp_ntz": CursorType.DATETIME}


def _time_of(column: Column) -> CursorType | None:
    return _TIMES.get(column.spark_type)


def effective(spec: TableSpec) -> str:
    """The cursor in its comparable form: the fallback's where it is NULL."""
    return f"{_FUNCTION}({stored(spec)}, '{_LOCAL if is_local(spec) else cursor_of(spec).type}')"


def is_local(spec: TableSpec) -> bool:
    """Whether the cursor's moments are declared to be of another zone than UTC, so that one which says its own cannot be compared with them."""
    zone = cursor_of(spec).zone
    return zone is not None and zone not in _UTC


def stored(spec: TableSpec) -> str:
    """The cursor as it is stored: the fallback where it is NULL."""
    cursor = cursor_of(spec)
    own = identifier(cursor.column)
    return own if cursor.fallback is None else f"coalesce({own}, {identifier(cursor.fallback)})"


def comparable_sql(name: str, kind: CursorType) -> str:
    """A column's value as the function of ours gives it."""
    return f"{_FUNCTION}({identifier(name)}, '{kind}')"


def without_cursor(spec: TableSpec) -> Condition:
    """Rows whose stamp is NULL, or is none."""
    return Condition(f"{effective(spec)} IS NULL")


def misfitting(spec: TableSpec) -> Condition:
    """Rows that have a stamp which is none."""
    return Condition(f"({stored(spec)} IS NOT NULL AND {effective(spec)} IS NULL)")


def inside(spec: TableSpec, window: Window, *, nulls: bool) -> Condition:
    """Rows of a window; `nulls` adds those without a cursor."""
    found = _near(spec, window) & _exact(spec, window)
    return found | without_cursor(spec) if nulls else found


def compared(expression: str, sign: str, value: str | int) -> Condition:
    """What is compared with a value in the comparable form. The end of a window may lie one above the last number there is.

    No parameter holds such a number. As a literal it is one with a fraction, with which SQLite compares its numbers exactly.
    """
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        return Condition(f"{expression} {sign} {value}")
    return Condition(f"{expression} {sign} ?", (value,))


def comparable(value: CursorValue) -> str | int:
    """A cursor's value as the function of ours gives it."""
    if value.type is CursorType.INTEGER:
        return int(value.text)
    if not value.is_finite:
        return "" if value.text.startswith("-") else "~"
    return value.text if value.type is CursorType.DATE else value.moment().isoformat(timespec="microseconds")


def index_statements(facts: SourceFacts | None) -> str:
    """An index for each cursor that has none."""
    tables = facts.tables if facts else ()
    return "\n".join(
        f"CREATE INDEX {identifier(f'{each.wanted.table.name}_{name}')} ON {identifier(each.wanted.table.name)} ({identifier(name)});"
        for each in tables
        for name in each.worth_an_index
    )


def names(columns: Sequence[str]) -> str:
    """A list for SELECT."""
    return ", ".join(identifier(name) for name in columns)


def _exact(spec: TableSpec, window: Window) -> Condition:
    found = Condition(f"{effective(spec)} IS NOT NULL")
    for sign, end in ((">=", window.lower), ("<", window.upper)):
        if end is not None:
            found &= compared(effective(spec), sign, comparable(end))
    return found


def _near(spec: TableSpec, window: Window) -> Condition:
    """What an index of the cursor answers: days are compared as texts, whatever follows them."""
    cursor, found = cursor_of(spec), EVERY
    if cursor.fallback is not None:
        return found
    for sign, end in ((">=", window.lower), ("<=", window.upper)):
        if end is not None and end.is_finite:
            value = comparable(end)
            if isinstance(value, str):
                value = _day(end, sign)
            found &= compared(identifier(cursor.column), sign, value)
    return found


def _day(end: CursorValue, sign: str) -> str:
    """The day of an end; of moments the one beside it, as one that says its zone may be written as of another day than it has in UTC."""
    day, beside = end.moment().date(), -1 if sign == ">=" else 1
    if end.type is not CursorType.DATE:
        with suppress(OverflowError):
            day += timedelta(days=beside)
    return day.isoformat() + ("" if sign == ">=" else "~")


def _sortable(value: Stored, kind: str) -> str | int | None:
    try:
        match kind:
            case _ if kind == _LOCAL and zone_of(value):
                return None
            case CursorType.INTEGER:
                return whole(value)
            case CursorType.DATE:
                return day(value).isoformat()
            case _:
                return moment(value).isoformat(timespec="microseconds")
    except (Unfit, KeyError):
        return None
