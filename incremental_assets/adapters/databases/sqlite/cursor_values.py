"""What a file holds in a cursor: values of its type, NULL, and values that are neither, as SQLite stores any value in any column."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from typing import Self

from incremental_assets.adapters.databases.condition import Condition
from incremental_assets.adapters.databases.sqlite.sql import chosen, effective, identifier, stored
from incremental_assets.core.errors import SourceRefused
from incremental_assets.core.model.cures import NO_TEXTS, NO_TEXTS_CURE
from incremental_assets.core.model.cursor import CursorType
from incremental_assets.core.model.table import TableSpec, cursor_of
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.words import counted


@dataclass(frozen=True, slots=True)
class CursorValues:
    """The rows of a table by what they have for a cursor."""

    nulls: int = 0
    numbers: int = 0
    """Numbers that are not of the cursor's type."""
    others: int = 0
    """Texts and blobs that are not."""
    only_numbers: bool = False
    """Whether there are such numbers and no row with a value of the cursor's type."""

    @classmethod
    def of(cls, connection: sqlite3.Connection, spec: TableSpec) -> Self:
        """All rows of the table; the cursor of each is read once."""
        table, found, kind = identifier(spec.id.name), effective(spec), f"typeof({stored(spec)})"
        counted_by_kind = ", ".join(
            f"total({kind} IN {kinds})" for kinds in ("('null')", "('integer', 'real')", "('text', 'blob')")
        )
        rows = chosen(spec, Condition(f"{found} IS NULL"))
        sql = f"SELECT {counted_by_kind} FROM {table} WHERE {rows.sql}"
        nulls, numbers, others = map(int, connection.execute(sql, rows.values).fetchone())
        there = chosen(spec, Condition(f"{found} IS NOT NULL"))
        fitting = f"SELECT EXISTS (SELECT 1 FROM {table} WHERE {there.sql})"
        return cls(nulls, numbers, others, numbers > 0 and not connection.execute(fitting, there.values).fetchone()[0])

    @property
    def misfits(self) -> int:
        """Rows that have a value which is none of the cursor's type."""
        return self.numbers + self.others

    def check(self, spec: TableSpec) -> None:
        """Single values of another kind go to quarantine; where there is no other, the cursor was declared as something else. Raises SourceRefused."""
        if self.only_numbers:
            raise SourceRefused(_sentence(spec, self.numbers))


def _sentence(spec: TableSpec, numbers: int) -> str:
    table, cursor = spec.id, cursor_of(spec)
    return _of_times(table, cursor.column, numbers) if cursor.type.is_time else _of_whole(table, cursor.column, numbers)


def _of_times(table: TableId, column: str, numbers: int) -> str:
    return f"{table}: {NO_TEXTS.format(column)}, in {counted(numbers, 'row')}; {NO_TEXTS_CURE.format(column)}"


def _of_whole(table: TableId, column: str, numbers: int) -> str:
    return (
        f"{table}: {column!r} holds numbers with a fraction in {counted(numbers, 'row')}, and {CursorType.INTEGER} is the type of whole ones; "
        f"add a generated column that shows them as texts, such as `datetime({column})` of Julian days, take it by `type: datetime`, and leave this one out: `columns: {{exclude: [{column}]}}`"
    )
