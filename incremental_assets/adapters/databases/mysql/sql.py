"""The server's words: identifiers, and the WHERE of a window on a cursor."""

from __future__ import annotations

from incremental_assets.adapters.databases import chosen_rows
from incremental_assets.adapters.databases.condition import EVERY, NONE, Condition
from incremental_assets.core.model.column import Column
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.row_condition import Constant
from incremental_assets.core.model.table import TableSpec, cursor_of
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.model.window import Window

_FIRST = {
    CursorType.DATE: "0001-01-01",
    CursorType.DATETIME: "0001-01-01 00:00:00",
    CursorType.TIMESTAMP: "1970-01-01 00:00:01",
}
"""The first values: below them lie the zero dates, which are none."""


def identifier(name: str) -> str:
    """A name in backticks; a percent sign is doubled, as values are put in by `%s`."""
    quoted = name.replace("`", "``").replace("%", "%%")
    return f"`{quoted}`"


def relation(table: TableId) -> str:
    """A table by its full name."""
    return f"{identifier(table.schema)}.{identifier(table.name)}"


def chosen(spec: TableSpec, rows: Condition) -> Condition:
    """Those of the rows that the configuration chooses: what every statement reads, but for the one that looks for what is not committed."""
    return chosen_rows.chosen(spec, rows, _WORDS)


class _Words:
    """Implements `chosen_rows.Words`."""

    def side(self, column: Column, _: tuple[Constant, ...]) -> str:
        return identifier(column.name)

    def value(self, _: Column, value: Constant) -> Condition:
        if value.kind == "text":
            return Condition("%s", (value.text,))
        # A bit is no TRUE.
        return Condition({"true": "1", "false": "0"}.get(value.text, value.text))


_WORDS = _Words()


def effective(spec: TableSpec) -> str:
    """The cursor of a row: the fallback where it is NULL."""
    cursor = cursor_of(spec)
    own = identifier(cursor.column)
    return own if cursor.fallback is None else f"COALESCE({own}, {identifier(cursor.fallback)})"


def has_cursor(spec: TableSpec) -> Condition:
    """Rows with a stamp; a zero date is none. An index of the cursor answers it."""
    first = _FIRST.get(cursor_of(spec).type)
    return (
        Condition(f"{effective(spec)} IS NOT NULL")
        if first is None
        else Condition(f"{effective(spec)} >= %s", (first,))
    )


def without_cursor(spec: TableSpec) -> Condition:
    """All other rows."""
    first = _FIRST.get(cursor_of(spec).type)
    missing = Condition(f"{effective(spec)} IS NULL")
    return missing if first is None else missing | Condition(f"{effective(spec)} < %s", (first,))


def inside(spec: TableSpec, window: Window, *, nulls: bool) -> Condition:
    """Rows of a window; `nulls` adds those without a cursor."""
    found = has_cursor(spec)
    for sign, end in ((">=", window.lower), ("<", window.upper)):
        if end is not None:
            found &= beyond(spec, sign, end)
    return found | without_cursor(spec) if nulls else found


def beyond(spec: TableSpec, sign: str, end: CursorValue) -> Condition:
    """Rows whose cursor lies on one side of a value."""
    if not end.is_finite:
        return EVERY if (sign[0] == ">") == end.text.startswith("-") else NONE
    return Condition(f"{effective(spec)} {sign} %s", (literal(end),))


def literal(value: CursorValue) -> str | int:
    """A finite value as the server compares it: an instant in UTC, as in every session of ours."""
    if value.type is CursorType.INTEGER:
        return int(value.text)
    if value.type is CursorType.DATE:
        return value.text
    return value.text.removesuffix("Z").replace("T", " ")
