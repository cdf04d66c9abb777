"""A snapshot whose rows are read by Python: what is checked, looked up and counted on their way to a file, whichever database they come from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol, TypeVar

from incremental_assets.adapters.databases.row_texts import key_text, place, row_hash
from incremental_assets.adapters.databases.sentences import ALTERED
from incremental_assets.core.errors import SourceRefused
from incremental_assets.core.model.cursor import CursorValue
from incremental_assets.core.model.key_parts import KeyParts
from incremental_assets.core.model.table import FuturePolicy, TableShape, TableSpec
from incremental_assets.core.planning.plan import SyncPlan


class LocalRow(Protocol):
    """One row: its values as Spark is to hold them, its cursor, and the first value that is not of its kind."""

    @property
    def values(self) -> tuple[Any, ...]:
        """NULL where Spark cannot hold one."""

    @property
    def cursor(self) -> Any:
        """The cursor in a form that compares with those of other rows; None where it has none."""

    @property
    def column(self) -> str:
        """The column of the value that is not of its kind; empty where all are."""

    @property
    def reason(self) -> str:
        """Why it is not."""


Row = TypeVar("Row", bound=LocalRow)


def check_unaltered(spec: TableSpec, found: Iterable[TableShape]) -> None:
    """The table as the catalogue shows it in the snapshot is the one that the plan was made for. Raises SourceRefused."""
    shape = next((shape.without(spec.shape.left_out) for shape in found), None)
    if shape is not None and spec.cursor is not None and spec.cursor.by_transaction:
        shape = shape.numbered()
    if shape is not None and (shape.columns, shape.primary_key) == (spec.columns, spec.shape.primary_key):
        return
    what = "its columns or keys" if shape else "it is gone"
    raise SourceRefused(f"{spec.id}: {ALTERED.format(what)}")


def sought(plan: SyncPlan, rows: Iterator[Row]) -> Iterator[Row]:
    """Those at the places of the plan, where it names some."""
    places = plan.request.places
    if places is None:
        return rows
    # A row that no copy can hold takes part in no comparison, and would else never come to quarantine.
    unfit = plan.compares_rows
    return (row for row in rows if places.holds(place(plan.spec, row.values)) or (unfit and row.column))


def hashed(spec: TableSpec, rows: Iterable[Row], places: KeyParts | None) -> list[tuple[str, int]]:
    """The key's canonical text and the row's hash of each, or of those alone whose keys lie at some places."""
    return [
        (key_text(spec, row.values), row_hash(spec.columns, row.values))
        for row in rows
        if places is None or places.holds(place(spec, row.values))
    ]


class Tally:
    """Counts the rows that pass, and gives each its flags. `comparable`: a cursor in the form of those of the rows, None where nothing lies below it."""

    def __init__(self, plan: SyncPlan, comparable: Callable[[CursorValue], Any]) -> None:
        def limit(value: CursorValue | None) -> Any:
            return None if value is None else comparable(value)

        self.rows = self.rejected = 0
        self.highest: Any = None
        self.due: Any = None
        self._late = limit(plan.late_below)
        self._ahead = limit(plan.future_above) if plan.spec.future is FuturePolicy.QUARANTINE else None
        self._column = plan.spec.cursor.column if plan.spec.cursor else ""

    def seen(self, rows: Iterator[Row], raw: Callable[[Row], str]) -> Iterator[tuple[Any, ...]]:
        """What is written of each. `raw`: the row as people read it."""
        for row in rows:
            at, column, reason = row.cursor, row.column, row.reason
            if self._ahead is not None and at is not None and at >= self._ahead:
                self.due = at if self.due is None else min(self.due, at)
                column, reason = column or self._column, reason or "stamped past the source's clock"
            self.rows += 1
            self.rejected += bool(column)
            if at is not None:
                self.highest = at if self.highest is None else max(self.highest, at)
            late = self._late is not None and at is not None and at < self._late
            yield (*row.values, column or None, reason or None, raw(row) if column else None, late)
