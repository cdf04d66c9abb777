"""What is counted of the rows of a batch while they are written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from incremental_assets.adapters.spark.arrow_types import required_type
from incremental_assets.adapters.spark.own_names import OPERATION, REJECT_REASON
from incremental_assets.core.model.batch import Operation


@dataclass(frozen=True, slots=True)
class Mark:
    """The mark by which the source says of a row that it is gone: the place of the column, and what it holds there as text; None: anything but NULL."""

    place: int
    value: str | None

    def rows(self, rows: pa.Table, types: Sequence[str]) -> pa.ChunkedArray:
        """Whether each of them is marked."""
        column = rows.column(self.place)
        if self.value is None:
            return column.is_valid()
        texts = column.cast(required_type(types[self.place])).cast(pa.string())
        return pc.fill_null(pc.equal(texts, self.value), fill_value=False)


@dataclass(frozen=True, slots=True)
class Counting:
    """What is counted of a batch, by the places of its columns.

    `key`: with the names, of a batch in which a row without a whole key cannot land. `ends`: of these the smallest and the largest are reported.
    `cursor`: its value, or the fallback's; `future`: counted from here on, in the cursor's own unit (days, microseconds, or as it is).
    `mark`: of a batch in which a marked row leaves the copy.
    """

    key: tuple[tuple[int, str], ...] = ()
    names: tuple[str, ...] = ()
    ends: tuple[int, ...] = ()
    cursor: tuple[int, ...] = ()
    future: int | None = None
    mark: Mark | None = None


@dataclass(slots=True)
class StagedPart:
    """What was counted of one part; `lower` and `future` are in the cursor's own unit, `ends` are per column of `Counting.ends`."""

    rows: int = 0
    rejected: int = 0
    gone: int = 0
    future: int = 0
    nulls: int = 0
    lower: Any = None
    ends: tuple[tuple[int, int] | None, ...] = ()
    digest: str = ""
    held: int = 0
    erased: int = 0
    """Rows that were left out, as their keys were erased; in no other count."""
    broken: int = 0
    rules: Counter[str] = field(default_factory=Counter)
    """Rows that break each rule of a contract; one may break several."""


def with_operation(rows: pa.Table) -> pa.Table:
    """A row that cannot land leaves no older one of its key behind, unless it is known to be held."""
    if OPERATION in rows.column_names:
        return rows
    goes = pc.is_valid(rows.column(REJECT_REASON))
    return rows.append_column(OPERATION, pc.if_else(goes, Operation.GONE.value, Operation.PUT.value))


def count_rows(counted: StagedPart, rows: pa.Table, counting: Counting) -> None:
    """Add rows, which say what they do to the copy, to what was counted so far."""
    puts = pc.equal(rows.column(OPERATION), Operation.PUT.value)
    # Nearly always every row lands, and to filter is to copy.
    lands = rows if pc.all(puts).as_py() else rows.filter(puts)
    counted.rows += rows.num_rows
    rejected = rows.num_rows - rows.column(REJECT_REASON).null_count
    counted.rejected += rejected
    counted.gone += rows.num_rows - lands.num_rows - rejected
    counted.held += pc.sum(pc.equal(rows.column(OPERATION), Operation.HELD.value)).as_py() or 0
    counted.ends = tuple(
        _wider(ends, lands.column(place)) for ends, place in zip(counted.ends, counting.ends, strict=True)
    )
    if counting.cursor:
        cursor = pc.coalesce(*(_ordered(lands.column(place)) for place in counting.cursor))
        counted.nulls += cursor.null_count
        lowest = pc.min(cursor).as_py()
        if lowest is not None and (counted.lower is None or lowest < counted.lower):
            counted.lower = lowest
        if counting.future is not None:
            counted.future += _from_on(cursor, counting.future)


def _ordered(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A cursor as whole numbers: days, microseconds, or what it is."""
    if pa.types.is_date32(column.type):
        return column.cast(pa.int32()).cast(pa.int64())
    return column if pa.types.is_decimal(column.type) else column.cast(pa.int64())


def _from_on(cursor: pa.ChunkedArray, value: int) -> int:
    return pc.sum(pc.greater_equal(cursor, value)).as_py() or 0


def _wider(ends: tuple[int, int] | None, column: pa.ChunkedArray) -> tuple[int, int] | None:
    found = pc.min_max(column).as_py()
    if found["min"] is None:
        return ends
    low, high = found["min"], found["max"]
    return (low, high) if ends is None else (min(low, ends[0]), max(high, ends[1]))
