"""What a file holds in a cursor: values of its type, NULL, and values that are neither, as SQLite stores any value in any column."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from typing import Self

from incremental_assets.adapters.databases.sqlite.sql import effective, identifier, stored
from incremental_assets.core.errors import SourceRefused
from incremental_assets.core.model.cures import NO_TEXTS, NO_TEXTS_CURE
from incremental_assets.core.model.cursor import CursorType
from incremental_assets.core.model.table import TableId, TableSpec, cursor_of
from incremental_assets.core.words import counted


@dataclass(frozen=True, slots=True)
class CursorValues:
    """The rows of a table by what they have for a cursor."""

    fitting: int = 0
    nulls: int = 0
    numbers: int = 0
    """Numbers that are not of the cursor's type."""
    others: int = 0
    """Texts and blobs that are not."""

    @classmethod
    def of(cls, connection: sqlite3.Connection, spec: TableSpec) -> Self:
        """All rows of the table."""
        found, held = effective(spec), stored(spec)
        sql = (
            f"SELECT total({found} IS NOT NULL), total({held} IS NULL), "
            f"total({found} IS NULL AND typeof({held}) IN ('integer', 'real')), total({found} IS NULL AND typeof({held}) IN ('text', 'blob')) "
            f"FROM {identifier(spec.id.name)}"
        )
        return cls(*map(int, connection.execute(sql).fetchone()))

    @property
    def misfits(self) -> int:
        """Rows that have a value which is none of the cursor's type."""
        return self.numbers + self.others

    def check(self, spec: TableSpec) -> None:
        """Single values of another kind go to quarantine; where there is no other, the cursor was declared as something else. Raises SourceRefused."""
        if self.numbers and not self.fitting:
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
