"""What a source says of a table and of the columns that may be its cursor, asked lightly; None stands for what it does not tell."""

from __future__ import annotations

from dataclasses import dataclass

from incremental_assets.core.config.resolve import cursor_type_of
from incremental_assets.core.model.column import Column
from incremental_assets.core.model.cursor import CursorType
from incremental_assets.core.model.table_shape import TableShape

_ENOUGH = 100
"""Rows from which a sample tells anything."""


@dataclass(frozen=True, slots=True)
class Sample:
    """The rows that were written last, in the order in which they lie: how many, without a value, with the value before, and with a smaller one."""

    rows: int
    nulls: int
    ties: int
    descents: int


_MOST = 0.9
"""Of its rows, whose number is an estimate."""
_BESIDE = 1.1
"""Transactions of the server for each of a table's, where an application is at work."""


@dataclass(frozen=True, slots=True)
class Inserts:
    """Rows here and there in the table, how many transactions have written those of each block, and how many the server has numbered from the first to the last of these."""

    rows: int
    transactions: int
    numbered: int

    @property
    def are_single(self) -> bool:
        """Whether most of its rows were written one by one, and not in bulk."""
        return self.rows >= _ENOUGH and 2 * self.transactions >= self.rows

    @property
    def are_alone(self) -> bool:
        """Whether next to nothing else was written meanwhile on the whole server, as where a restore inserts row by row."""
        return self.numbered < _BESIDE * self.transactions

    @property
    def show_life(self) -> bool:
        """Whether the counters have seen the application at work, and not a restore alone."""
        return self.are_single and not self.are_alone


@dataclass(frozen=True, slots=True)
class ColumnTraits:
    """One column that could be a cursor."""

    column: Column
    type: CursorType
    indexed: bool | None = None
    """Whether an index of all rows begins with it."""
    on_insert: bool | None = None
    """Whether the database itself gives it a value: a default, a sequence, or a trigger."""
    on_update: bool | None = None
    """Whether a trigger of the database writes it at each update."""
    null_share: float | None = None
    sample: Sample | None = None
    counts_time: bool = False
    """Whether its whole numbers are moments, as seconds since 1970."""


@dataclass(frozen=True, slots=True)
class TableTraits:
    """One table. The counts are those since the source's statistics began."""

    columns: tuple[ColumnTraits, ...]
    inserts: int | None = None
    updates: int | None = None
    deletes: int | None = None
    written: Inserts | None = None

    def only_grows(self, rows: int) -> bool:
        """Whether counters show that rows are inserted and never changed, of a table with about so many. They begin anew with a restore, whose rows all come in bulk or in a row."""
        counted = self.has_seen(rows) and self.updates == 0 and not self.deletes
        return counted and self.written is not None and self.written.show_life

    def has_seen(self, rows: int) -> bool:
        """Whether the counters have seen the rows come: they begin anew after a crash too, and where somebody resets them."""
        return bool(self.inserts) and (self.inserts or 0) >= _MOST * rows


def cursor_columns(shape: TableShape) -> tuple[tuple[Column, CursorType], ...]:
    """Columns whose type a cursor may have: every time, and whole numbers that a sequence draws or that a key keeps unique."""
    keys = {key[0] for key in (shape.primary_key, *shape.unique_keys) if len(key) == 1}
    found = [(column, cursor_type_of(column)) for column in shape.columns]
    return tuple(
        (column, kind)
        for column, kind in found
        if kind is not None and (kind.is_time or column.sequence is not None or column.name in keys)
    )


def from_catalogue(shape: TableShape) -> TableTraits:
    """The traits of a table by its catalogue alone, for a database whose sessions do not implement Discovering."""
    firsts = {key[0] for key in (shape.primary_key, *shape.unique_keys) if key}
    return TableTraits(
        tuple(
            ColumnTraits(
                column,
                kind,
                indexed=True if column.name in firsts else None,
                on_insert=True if column.sequence or (column.stamps and column.stamps.stamps_inserts) else None,
                on_update=True if column.stamps and column.stamps.stamps_updates else None,
            )
            for column, kind in cursor_columns(shape)
        )
    )
