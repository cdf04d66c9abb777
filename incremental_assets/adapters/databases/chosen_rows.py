"""The condition of a table's `where` in SQL: columns as the dialect quotes them, constants as it takes them, and nothing of the text that a person wrote."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from operator import and_, or_
from typing import Protocol

from incremental_assets.adapters.databases.condition import Condition
from incremental_assets.core.model.column import Column
from incremental_assets.core.model.row_condition import (
    Among,
    Compared,
    Constant,
    Joined,
    Missing,
    Negated,
    RowCondition,
)
from incremental_assets.core.model.table import TableSpec


class Words(Protocol):
    """How one dialect writes both sides of a comparison."""

    def side(self, column: Column, values: tuple[Constant, ...]) -> str:
        """The column, as it is compared with these."""

    def value(self, column: Column, value: Constant) -> Condition:
        """A constant, as it is compared with the column."""


def chosen(spec: TableSpec, rows: Condition, words: Words) -> Condition:
    """Those of the rows that the configuration chooses; all of them where it names no condition."""
    return rows if spec.where is None else condition_of(spec.where, spec.where_columns, words) & rows


def condition_of(where: RowCondition, columns: Iterable[Column], words: Words) -> Condition:
    """A condition of these columns."""
    by_name = {column.name: column for column in columns}

    def written(condition: RowCondition) -> Condition:
        match condition:
            case Compared(name, sign, value):
                column = by_name[name]
                found = words.value(column, value)
                return Condition(f"{words.side(column, (value,))} {sign} {found.sql}", found.values)
            case Among(name, values):
                column = by_name[name]
                each = [words.value(column, value) for value in values]
                listed = ", ".join(one.sql for one in each)
                return Condition(
                    f"{words.side(column, values)} IN ({listed})", tuple(value for one in each for value in one.values)
                )
            case Missing(name):
                return Condition(f"{words.side(by_name[name], ())} IS NULL")
            case Negated(inner):
                found = written(inner)
                return Condition(f"NOT ({found.sql})", found.values)
            case Joined(by, parts):
                return reduce(and_ if by == "AND" else or_, map(written, parts))

    return written(where)
