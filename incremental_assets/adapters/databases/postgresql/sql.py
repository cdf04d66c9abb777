"""PostgreSQL's syntax: identifiers, literals and values, and the WHERE of a window on a cursor.

Identifiers come from the catalogue and are quoted here. Values are bound wherever a driver binds; Spark's JDBC reader cannot, so there a
cursor's canonical text, which cannot hold a quote, is cast in the source.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from incremental_assets.adapters.databases.postgresql.collation import collation_key
from incremental_assets.adapters.databases.postgresql.transaction_number import NEXT, is_numbering, numbered
from incremental_assets.core.captures.database.observation import numbers
from incremental_assets.core.model.column import Column
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.table import NullPolicy, TableSpec, cursor_of
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.model.window import Window

ALIAS = "t"
"""How every statement of ours names the one table that it reads."""

_BIGINT = range(-(2**63), 2**63)


def identifier(name: str) -> str:
    """A name in double quotes; PostgreSQL's names hold no NUL."""
    if "\x00" in name or not name:
        raise ValueError(f"{name!r} is not a name in PostgreSQL")
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


def relation(table: TableId) -> str:
    """`"schema"."table" AS t`."""
    return f"{identifier(table.schema)}.{identifier(table.name)} AS {ALIAS}"


def column(name: str) -> str:
    """`t."name"`."""
    return f"{ALIAS}.{identifier(name)}"


def literal(text: str) -> str:
    """A text literal that means the same whatever `standard_conforming_strings` is."""
    if "\x00" in text:
        raise ValueError("PostgreSQL's texts hold no NUL")
    doubled = text.replace("'", "''")
    if "\\" not in text:
        return f"'{doubled}'"
    escaped = doubled.replace("\\", "\\\\")
    return f" E'{escaped}'"


class Values(Protocol):
    """Puts a value into a statement and gives the SQL that stands for it."""

    def __call__(self, text: str, kind: str) -> str:
        """`kind` is a type name of ours, such as `timestamptz`."""


def inline(text: str, kind: str) -> str:
    """A literal for the JDBC reader, which cannot bind."""
    return f"CAST({literal(text)} AS {kind})"


class Parameters:
    """The parameters of our own driver: every value is bound as `$n`."""

    def __init__(self) -> None:
        self.values: list[str] = []

    def __call__(self, text: str, kind: str) -> str:
        self.values.append(text)
        return f"CAST(${len(self.values)} AS {kind})"


def value_of(found: Column) -> str:
    """A column's value in a row, the number of the row's transaction, or the row's collation key."""
    if found.of:
        return collation_key(found.of, column)
    return f"({numbered(ALIAS)})" if is_numbering(found) else column(found.name)


# --- the cursor -------------------------------------------------------------------------------------


def column_of(spec: TableSpec, name: str) -> Column:
    """The column of that name; resolving the configuration has made sure of it."""
    return next(column for column in spec.columns if column.name == name)


def effective(spec: TableSpec) -> str:
    """The cursor's value in a row: the fallback's where it is NULL."""
    cursor = cursor_of(spec)
    own = value_of(column_of(spec, cursor.column))
    return own if cursor.fallback is None else f"coalesce({own}, {column(cursor.fallback)})"


def orderly(spec: TableSpec) -> str:
    """`effective` without numeric's NaN, which is no whole number and would be the largest of all."""
    return (
        f"nullif({effective(spec)}, 'NaN')"
        if cursor_of(spec).type is CursorType.INTEGER and _is_numeric(spec)
        else effective(spec)
    )


def can_be_null(spec: TableSpec) -> bool:
    """Whether a row may lack a cursor."""
    cursor = cursor_of(spec)
    return all(column_of(spec, name).nullable for name in cursor.columns)


def without_cursor(spec: TableSpec) -> str:
    """The condition that a row lacks a cursor, in a form that an index answers."""
    cursor = cursor_of(spec)
    return " AND ".join(f"{column(name)} IS NULL" for name in cursor.columns)


def reads_nulls(spec: TableSpec) -> bool:
    """Whether a sync reads rows without a cursor: under `fail` too, so that such a row is noticed."""
    return cursor_of(spec).nulls is not NullPolicy.SKIP and can_be_null(spec)


def cursor_value(spec: TableSpec, value: CursorValue, values: Values) -> str:
    """A value that compares with the cursor by the cursor's own operator, so that an index serves."""
    return values(value.text, _kind(spec, value))


def inside(spec: TableSpec, window: Window, values: Values, *, nulls: bool) -> str:
    """The condition that a row lies in a window; `nulls` adds the rows without a cursor."""
    cursor = cursor_of(spec)
    if window.lower is None and window.upper is None:
        return "TRUE" if nulls or not can_be_null(spec) else f"NOT ({without_cursor(spec)})"
    found = _range(spec, cursor.column, window, values)
    if cursor.fallback is not None:
        # Not coalesce(): as a disjunction each side can use an index of its own.
        found = f"({found} OR ({column(cursor.column)} IS NULL AND {_range(spec, cursor.fallback, window, values)}))"
    return f"({found} OR ({without_cursor(spec)}))" if nulls and can_be_null(spec) else found


def of_members(spec: TableSpec, members: Sequence[int] | None, values: Values, condition: str) -> str:
    """The condition, of rows that lie in one of the members or in the table itself: a partition that is attached meanwhile is not in the snapshot's order."""
    if not members:
        return condition
    oids = values("{" + ",".join(str(number) for number in numbers(members)) + "}", "oid[]")
    itself = values(f"{identifier(spec.id.schema)}.{identifier(spec.id.name)}", "regclass")
    return f"{condition} AND ({ALIAS}.tableoid = ANY({oids}) OR {ALIAS}.tableoid = {itself})"


def _range(spec: TableSpec, name: str, window: Window, values: Values) -> str:
    ends = [(">=", window.lower), ("<", window.upper)]
    own = value_of(column_of(spec, name))
    tests = [f"{own} {sign} {cursor_value(spec, end, values)}" for sign, end in ends if end is not None]
    if cursor_of(spec).by_transaction and window.lower is not None:
        # Of no row, so that it is asked before the first: where nothing was written since, on the whole server, the table is not looked through.
        tests.append(f"{NEXT} > {cursor_value(spec, window.lower, values)}")
    return f"({' AND '.join(tests)})"


def _kind(spec: TableSpec, value: CursorValue) -> str:
    if value.type is CursorType.INTEGER:
        return "numeric" if _is_numeric(spec) or int(value.text) not in _BIGINT else "bigint"
    return {CursorType.DATE: "date", CursorType.DATETIME: "timestamp", CursorType.TIMESTAMP: "timestamptz"}[value.type]


def _is_numeric(spec: TableSpec) -> bool:
    return column_of(spec, cursor_of(spec).column).source_type.startswith("numeric")
