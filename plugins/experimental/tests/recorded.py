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

import pyarrow as pa

from incremental_assets.adapters.databases.dialect import Address
from incremental_assets.adapters.databases.probe import SqlProbe
from incremental_assets.adapters.databases.registry import dialect_of
from incremental_assets.core.captures.database.landed_state import landed_state
from incremental_assets.core.captures.planner import plan
from incremental_assets.core.model.observe_request import ObserveRequest
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.planning.plan import CommitIds, NothingToDo, Request, SyncPlan
from incremental_assets_experimental.rowwise.row_dialect import Row
from tests.snapshots import as_read

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
    def snapshot(self) -> Iterator[bool]:
        self.events.append("snapshot")
        yield True
        self.events.append("over")

    def abort(self) -> None:
        self.events.append("abort")

    def close(self) -> None:
        self.events.append("close")


def _as_a_driver_has_it(value: Any) -> Any:
    if isinstance(value, str) and _MOMENT.fullmatch(value):
        return datetime.fromisoformat(value)
    return Decimal(value) if isinstance(value, str) and _DECIMAL.fullmatch(value) else value


def decided(address: Address, spec: TableSpec, state: State | None = None) -> SyncPlan | NothingToDo:
    """What a look at the stand-in leads to."""
    (seen,) = SqlProbe(address, "shop").observe((ObserveRequest(spec, state),))
    return plan(spec, Request("run"), state, CommitIds("app", 0, "batch"), seen)


def planned(address: Address, spec: TableSpec, state: State | None = None) -> SyncPlan:
    """Likewise, where there is something to do."""
    decision = decided(address, spec, state)
    assert isinstance(decision, SyncPlan), decision
    return decision


def synced(address: Address, spec: TableSpec, state: State | None = None) -> tuple[pa.Table, State]:
    """The rows that Spark would get, and the state that they leave."""
    decision = planned(address, spec, state)
    with SqlProbe(address, "shop").snapshot(decision) as seen:
        parts = dialect_of(address.dialect).reader(address).parts(decision, seen)
        assert parts is not None
        rows = pa.concat_tables(batch for part in parts for batch in part.batches())
    return rows, landed_state(decision, as_read(seen.rows, seen.highest, seen.fingerprint, seen.due, seen.visible))
