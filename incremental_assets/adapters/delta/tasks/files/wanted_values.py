"""Values that are looked up in a column: in a table where they lie close together, by binary search where the column ascends, as a table's keys mostly do, else by their hashes.

Whether it ascends is seen in the values themselves, which have been read: of what a file says of their order nothing is believed.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from incremental_assets.adapters.delta.tasks.files.whole_numbers import Numbers, whole_numbers

_RUN_ROWS = 1024
"""The rows of a stretch that ascends, on average: to look through many shorter ones takes longer than to hash them all."""
_CLOSE = 8
"""Numbers from the least to the most, for each that is looked up: as many entries of four bytes take a table as much as the order of all values does."""
_NOWHERE = -1


_Places = np.ndarray[Any, np.dtype[np.int32]]


class WantedValues:
    """Some values, each of them once. NULL equals NULL."""

    def __init__(self, values: pa.Array) -> None:
        self._values = values
        self._ordered: tuple[Numbers, Numbers] | None = None
        self._close: tuple[int, int, _Places] | None = None

    def found(self, column: pa.ChunkedArray) -> tuple[Numbers, Numbers]:
        """The column's rows that have one of the values, in their order, and the place of that value."""
        for way in (self._placed, self._searched):
            if (found := way(column)) is not None:
                return found
        return hashed(column, self._values)

    def _placed(self, column: pa.ChunkedArray) -> tuple[Numbers, Numbers] | None:
        """The same by a table of places; None where values or column are no whole numbers or hold NULL, or the values lie far apart."""
        if (table := self._table()) is None:
            return None
        low, high, entries = table
        rows, places, first = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)], 0
        for chunk in column.chunks:
            if (numbers := whole_numbers(chunk)) is None:
                return None
            near = np.flatnonzero((numbers >= low) & (numbers <= high))
            found = entries[numbers[near].astype(np.int64) - low]
            there = found != _NOWHERE
            rows.append(near[there] + first)
            places.append(found[there].astype(np.int64))
            first += len(numbers)
        return np.concatenate(rows), np.concatenate(places)

    def _table(self) -> tuple[int, int, _Places] | None:
        """The least and the most of the values, and of each number between them the place; made for the first column."""
        if self._close is None and (numbers := whole_numbers(self._values)) is not None and len(numbers):
            low, high = int(numbers.min()), int(numbers.max())
            if high - low < _CLOSE * len(numbers):
                entries = np.full(high - low + 1, _NOWHERE, dtype=np.int32)
                entries[numbers.astype(np.int64) - low] = np.arange(len(numbers), dtype=np.int32)
                self._close = low, high, entries
        return self._close

    def _searched(self, column: pa.ChunkedArray) -> tuple[Numbers, Numbers] | None:
        """The same by binary search; None where values or column are no whole numbers or hold NULL, or the column does not ascend in long stretches."""
        rows, places, first = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)], 0
        for chunk in column.chunks:
            numbers = whole_numbers(chunk)
            runs = None if numbers is None else ascending(numbers)
            order = None if runs is None else self._order()
            if numbers is None or runs is None or order is None:
                return None
            for start, end in runs:
                theirs, ours = _met(numbers[start:end], order[0])
                rows.append(theirs + (first + start))
                places.append(order[1][ours])
            first += len(chunk)
        return np.concatenate(rows), np.concatenate(places)

    def _order(self) -> tuple[Numbers, Numbers] | None:
        """The values in their order, and the place of each; made for the first column that ascends, as to sort many takes a while."""
        if self._ordered is None and (numbers := whole_numbers(self._values)) is not None:
            places = np.argsort(numbers, kind="stable")
            self._ordered = numbers[places], places
        return self._ordered


def ascending(numbers: Numbers) -> list[tuple[int, int]] | None:
    """The stretches in which these numbers do not descend, from row to row; None where they are many."""
    ends = np.flatnonzero(numbers[1:] < numbers[:-1]) + 1
    if len(ends) > len(numbers) // _RUN_ROWS:
        return None
    bounds = [0, *ends.tolist(), len(numbers)]
    return list(pairwise(bounds))


def hashed(column: pa.ChunkedArray | pa.Array, values: pa.Array) -> tuple[Numbers, Numbers]:
    """The same by the hashes of both."""
    found = pc.index_in(column, value_set=values)
    return _int64(pc.indices_nonzero(found.is_valid())), _int64(found.drop_null())


def _met(run: Numbers, sought: Numbers) -> tuple[Numbers, Numbers]:
    """The rows of a run with a number that is looked up, and the place of that number: both ascend, and the shorter is searched for in the longer."""
    if not len(run):
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    low, high = np.searchsorted(sought, run[0]), np.searchsorted(sought, run[-1], side="right")
    near = sought[low:high]
    if len(near) >= len(run):
        at = np.searchsorted(near, run)
        rows = np.flatnonzero(near[np.minimum(at, len(near) - 1)] == run)
        return rows, at[rows] + low
    # None of them lies above the last row's.
    begin = np.searchsorted(run, near)
    there = np.flatnonzero(run[begin] == near)
    begin, end = begin[there], np.searchsorted(run, near[there], side="right")
    times = end - begin
    before = np.repeat(begin - (np.cumsum(times) - times), times)
    return before + np.arange(len(before)), np.repeat(there + low, times)


def _int64(values: pa.Array | pa.ChunkedArray) -> Numbers:
    found: Numbers = values.to_numpy().astype(np.int64)
    return found
