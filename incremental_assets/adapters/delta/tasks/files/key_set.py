"""Finds which rows have one of a batch's keys: values of any type are looked up in Arrow, and become numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from incremental_assets.adapters.delta.log.readable import readable
from incremental_assets.adapters.delta.tasks.files.wanted_values import WantedValues, hashed
from incremental_assets.adapters.delta.tasks.files.whole_numbers import Numbers


@dataclass(frozen=True, slots=True)
class KeySet:
    """The keys of a batch, each of them once. NULL equals NULL.

    `first`: values of the first column, `values`: of those that follow. `pairs`: of these, the numbers that stand for a value and those before it.
    """

    first: WantedValues
    values: tuple[pa.Array, ...]
    pairs: tuple[pa.Array, ...]
    order: Numbers | None
    """Which of the keys has a number; None where they are the same."""

    @classmethod
    def of(cls, columns: Sequence[pa.ChunkedArray]) -> KeySet:
        """Keys by their columns. Raises NotByTasks where their texts are too long for one array."""
        with readable("the key of the batch"):
            if len(columns) == 1:
                return cls(WantedValues(_whole(columns[0])), (), (), None)
            values = tuple(_whole(column.unique()) for column in columns)
        numbers, pairs = _places(columns[0], values[0]), []
        for column, known in zip(columns[1:], values[1:], strict=True):
            paired = _paired(numbers, column, known)
            pairs.append(pc.unique(paired))
            numbers = _places(paired, pairs[-1])
        order = np.empty(len(pairs[-1]), dtype=np.int64)
        order[numbers] = np.arange(len(numbers))
        return cls(WantedValues(values[0]), values[1:], tuple(pairs), order)

    def found(self, columns: Iterable[pa.ChunkedArray]) -> tuple[Numbers, Numbers]:
        """The rows that have one of the keys, in their order, and which one of them. A column is asked for only while some may."""
        each = iter(columns)
        rows, numbers = self.first.found(next(each))
        for known, pairs in zip(self.values, self.pairs, strict=True):
            if not len(rows):
                break
            same, numbers = hashed(_paired(numbers, next(each).take(pa.array(rows)), known), pairs)
            rows = rows[same]
        return rows, numbers if self.order is None else self.order[numbers]


def _whole(values: pa.ChunkedArray | pa.Array) -> pa.Array:
    return values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values


def _places(values: pa.ChunkedArray | pa.Array, known: pa.Array) -> Numbers:
    """-1 for a value that is not known."""
    places: Numbers = pc.fill_null(pc.index_in(values, value_set=known), -1).to_numpy().astype(np.int64)
    return places


def _paired(numbers: Numbers, column: pa.ChunkedArray, known: pa.Array) -> pa.Array:
    """One number for each row's number and its value; below zero where the value is not known."""
    places = _places(column, known)
    return pa.array(np.where(places < 0, -1, numbers * len(known) + places))
