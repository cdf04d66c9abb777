"""A stand-in for a server that nobody here has: recorded answers to questions on its catalogue and its transactions, and its tables in a SQLite.

What it cannot show is whether a real server takes the SQL and means the same by it: `make dialect-check` shows that.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any

from incremental_assets.adapters.databases.rowwise.row_dialect import Row

Answer = list[Row] | Callable[[str], list[Row]]
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?")
_DECIMAL = re.compile(r"-?\d+\.\d+")


@dataclass
class Recorded:
    """Implements `rowwise.row_dialect.RowConnection`; every connection of a test is this one."""

    schema: str
    answers: Mapping[str, Answer]
    """By a part of the question."""
    translated: Callable[[str], str]
    """A question on rows in SQLite's words."""
    asked: list[str] = field(default_factory=list)
    events: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.tables = sqlite3.connect(":memory:", isolation_level=None)
        self.tables.execute(f"ATTACH ':memory:' AS {self.schema}")

    def rows(self, sql: str) -> Iterator[Row]:
        self.asked.append(sql.strip())
        for part, answer in self.answers.items():
            if part in sql:
                yield from answer(sql) if callable(answer) else answer
                return
        for row in self.tables.execute(self.translated(sql)).fetchall():
            yield tuple(map(_as_a_driver_has_it, row))

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        self.events.append("snapshot")
        yield
        self.events.append("over")

    def abort(self) -> None:
        self.events.append("abort")

    def close(self) -> None:
        self.events.append("close")


def _as_a_driver_has_it(value: Any) -> Any:
    if isinstance(value, str) and _MOMENT.fullmatch(value):
        return datetime.fromisoformat(value)
    return Decimal(value) if isinstance(value, str) and _DECIMAL.fullmatch(value) else value
