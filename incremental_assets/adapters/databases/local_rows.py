"""A snapshot whose rows are read by Python: what is checked, looked up and counted on their way to a file, whichever database they come from."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Protocol, TypeVar

from incremental_assets.adapters.databases.measure import text_hash
from incremental_assets.adapters.databases.read_places import ReadPlaces
from incremental_assets.adapters.databases.row_texts import is_marked, key_text, place, row_hash, row_text, written_text
from incremental_assets.adapters.databases.sentences import ALTERED
from incremental_assets.adapters.spark.own_names import HASH, KEY, ROW, WRITTEN
from incremental_assets.core.captures.database.reading import of_database
from incremental_assets.core.errors import SourceRefused
from incremental_assets.core.model.collation_key import as_planned
from incremental_assets.core.model.column import Column
from incremental_assets.core.model.cursor import CursorValue
from incremental_assets.core.model.fingerprint import Fingerprint
from incremental_assets.core.model.key_parts import KeyParts
from incremental_assets.core.model.measure import Measure
from incremental_assets.core.model.table import FuturePolicy, TableSpec
from incremental_assets.core.model.table_shape import TableShape
from incremental_assets.core.model.window import Window
from incremental_assets.core.planning.plan import SyncPlan

TEXT_COLUMNS = f"{KEY} string, {ROW} string"
"""Of a search for values that differ: the key's canonical text, and that of the row."""


class Unfit(ValueError):
    """A value that Spark cannot hold, or that is not of the kind of its column; the message is half a sentence for people."""


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
        """Why it is not of its kind; empty where all are."""


Row = TypeVar("Row", bound=LocalRow)


def check_unaltered(spec: TableSpec, found: Iterable[TableShape]) -> None:
    """The table as the catalogue shows it in the snapshot is the one that the plan was made for. Raises SourceRefused."""
    shape = next((as_planned(spec, shape).without(spec.shape.left_out) for shape in found), None)
    if shape is not None and spec.cursor is not None and spec.cursor.by_transaction:
        shape = shape.numbered()
    elif shape is not None:
        shape = shape.read_as({column.name: column.spark_type for column in spec.columns})
    if shape is not None and (_as_read(shape.columns), shape.primary_key) == (
        _as_read(spec.columns),
        spec.shape.primary_key,
    ):
        return
    what = "its columns or keys" if shape else "it is gone"
    raise SourceRefused(f"{spec.id}: {ALTERED.format(what)}")


def _as_read(columns: Iterable[Column]) -> list[Column]:
    """Columns as far as a read depends on them: who stamps them is asked by each look."""
    return [replace(column, stamps=None) for column in columns]


def selected(plan: SyncPlan, rows: Iterator[Row]) -> Iterator[Row]:
    """The rows at the places of the plan, where it names some; where it compares rows, also those with a value that Spark cannot hold."""
    places = plan.request.places
    if places is None:
        return rows
    # A row that no copy can hold takes part in no comparison, and would else never come to quarantine.
    unfit = plan.reading.finds_differing
    return (row for row in rows if places.holds(place(plan.spec, row.values)) or (unfit and row.column))


def hashed_columns(spec: TableSpec) -> str:
    """Of a row-by-row comparison the key's canonical text, the row's hash and, where rows are told apart by a collation key, the key as it is written."""
    return f"{KEY} string, {HASH} bigint" + (f", {WRITTEN} string" if spec.collation_key else "")


def hashed(spec: TableSpec, rows: Iterable[Row], places: KeyParts | None) -> list[tuple[Any, ...]]:
    """What `hashed_columns` names of each row, or of those alone whose keys lie at some places."""
    return [
        (
            key_text(spec, row.values),
            row_hash(spec.columns, row.values),
            *([written_text(spec, row.values)] if spec.collation_key else []),
        )
        for row in rows
        if places is None or places.holds(place(spec, row.values))
    ]


def texts(spec: TableSpec, rows: Iterable[Row], places: KeyParts | None) -> list[tuple[str, str]]:
    """What `TEXT_COLUMNS` names of the same rows."""
    return [
        (key_text(spec, row.values), row_text(spec.columns, row.values))
        for row in rows
        if places is None or places.holds(place(spec, row.values))
    ]


def landable(spec: TableSpec, rows: Iterable[Row]) -> Iterator[Row]:
    """The rows that could have landed: every value is of its kind, and the source does not mark them as gone."""
    return (row for row in rows if not (row.column or is_marked(spec, row.values)))


def unfit(rows: Iterable[Row]) -> Iterator[Row]:
    """The rows with a value that Spark cannot hold."""
    return (row for row in rows if row.column)


def placed(spec: TableSpec, rows: Iterable[Row]) -> ReadPlaces:
    """The place and the hash of each row."""
    return ReadPlaces.of((place(spec, row.values), row_hash(spec.columns, row.values)) for row in rows)


def fingerprinted(
    spec: TableSpec,
    window: Window,
    rows: Iterable[Row],
    raw: Callable[[Row], str],
    value_of: Callable[[Any], CursorValue | None],
) -> Fingerprint:
    """The fingerprint of rows by their content, as they carry no versions. `raw`: a row as people read it; `value_of`: the cursor value of a row's own form of it."""
    count, total, highest = 0, 0, None
    for row in rows:
        count += 1
        total += text_hash(raw(row)) if row.column else row_hash(spec.columns, row.values)
        if row.cursor is not None:
            highest = row.cursor if highest is None else max(highest, row.cursor)
    value = value_of(highest)
    return Fingerprint(window.lower, count, value.text if value else None, str(total))


def measured(
    spec: TableSpec,
    windows: Sequence[Window],
    rows: Iterable[Row],
    below: Callable[[CursorValue], Any],
    at: Callable[[Any], Any],
) -> tuple[Measure, ...]:
    """Rows and hash of each window, of which no two share a row. `below` and `at` give a window's lower end, and a row's cursor, in forms that compare."""
    counts, sums = [0] * len(windows), [0] * len(windows)
    lowers = [below(window.lower) for window in windows if window.lower is not None]
    for row in rows:
        index = 0
        if len(windows) > 1 and row.cursor is not None:
            index = bisect_right(lowers, at(row.cursor)) - len(lowers) + len(windows) - 1
        counts[index] += 1
        sums[index] += row_hash(spec.columns, row.values)
    return tuple(Measure(window, count, str(total)) for window, count, total in zip(windows, counts, sums, strict=True))


def key_texts(
    columns: Sequence[Column], converters: Sequence[Callable[[Any], Any]], keys: Iterable[Sequence[Any]]
) -> Iterator[str]:
    """The canonical texts of the keys; a key with a part that is NULL, or not of its kind, is in no copy."""
    for key in keys:
        if None in key:
            continue
        try:
            values = [convert(value) for value, convert in zip(key, converters, strict=True)]
        except Unfit:
            continue
        yield row_text(columns, values)


class Tally:
    """Counts the rows that pass, and gives each its flags. `comparable`: a cursor in the form of those of the rows, None where nothing lies below it."""

    def __init__(self, plan: SyncPlan, comparable: Callable[[CursorValue], Any]) -> None:
        def limit(value: CursorValue | None) -> Any:
            return None if value is None else comparable(value)

        self.rows = self.rejected = 0
        self.highest: Any = None
        self.due: Any = None
        self._late = limit(of_database(plan).late_below)
        self._ahead = limit(of_database(plan).future_above) if plan.spec.future is FuturePolicy.QUARANTINE else None
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
