"""Rows of one table on their way to Arrow: texts, column by column, until there are enough of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from incremental_assets.adapters.databases.mysql.columns import converted, printed
from incremental_assets.adapters.logs.changes import CODES, OWN, Change, change_column
from incremental_assets.adapters.logs.mysql.layout import Layout, Reading
from incremental_assets.adapters.spark.arrow_types import required_type

Sent = list[bytes | None]


@dataclass(frozen=True, slots=True)
class Mark:
    """Which transaction a change is of, and its place in it."""

    position: int
    second: int
    ordinal: int


@dataclass
class Rows:
    """`old_rows`: whether rows that are gone are wanted with all that the log has of them, and not by their key alone."""

    reading: Reading
    old_rows: bool
    codes: list[int] = field(default_factory=list)
    positions: list[int] = field(default_factory=list)
    ordinals: list[int] = field(default_factory=list)
    seconds: list[int] = field(default_factory=list)
    values: list[Sent] = field(default_factory=list)
    rejected: int = 0

    def __len__(self) -> int:
        return len(self.codes)

    def put(self, change: Change, row: Sent, mark: Mark) -> None:
        """A row as it is now."""
        self._add(change, row, mark, 2 * mark.ordinal)

    def gone(self, row: Sent, mark: Mark, *, is_left: bool = False) -> None:
        """A row that is no more; `is_left`: it is there under another key, which comes next."""
        self._add(Change.DELETE, row if self.old_rows else self._by_key(row), mark, 2 * mark.ordinal - is_left)

    def emptied(self, mark: Mark) -> None:
        """All rows before it are no more."""
        self._add(Change.TRUNCATE, [None] * len(self.reading.layout.columns), mark, 2 * mark.ordinal)

    def key_of(self, row: Sent) -> list[bytes | None]:
        """The values that identify it."""
        return [row[place] for place in self.reading.key]

    def table(self) -> pa.Table:
        """All of them."""
        layout, count = self.reading.layout, len(self)
        columns: list[pa.Array] = []
        reasons: dict[int, tuple[str, str]] = {}
        for place, column in enumerate(layout.columns):
            texts = pa.array([row[place] for row in self.values], pa.binary())
            values, unfit = converted(column, texts)
            columns.append(values.cast(required_type(column.spark_type)))
            for at, reason in unfit.items():
                reasons.setdefault(at, (column.name, reason))
        self.rejected = len(reasons)
        own = [
            change_column(np.array(self.codes, np.int8)),
            pa.array(self.positions, pa.int64()),
            pa.array(self.ordinals, pa.int64()),
            pa.array(np.zeros(count, np.int64)),
            pa.array(np.array(self.seconds, np.int64) * 1_000_000).cast(pa.timestamp("us", "UTC")),
            pa.nulls(count, pa.binary()),
            *self._rejects(reasons),
        ]
        return pa.Table.from_arrays([*own, *columns], schema=schema_of(layout))

    def _add(self, change: Change, row: Sent, mark: Mark, ordinal: int) -> None:
        self.codes.append(CODES[change])
        self.positions.append(mark.position)
        self.ordinals.append(ordinal)
        self.seconds.append(mark.second)
        self.values.append(row)

    def _by_key(self, row: Sent) -> Sent:
        found: Sent = [None] * len(row)
        for place in self.reading.key:
            found[place] = row[place]
        return found

    def _rejects(self, reasons: Mapping[int, tuple[str, str]]) -> list[pa.Array]:
        """The first column of a row that no copy can hold, why, and the row as texts, as a snapshot tells them."""
        if not reasons:
            return [pa.nulls(len(self), pa.string())] * 3
        told = [reasons.get(place) for place in range(len(self))]
        names = [each.name for each in self.reading.layout.columns]
        raws = [
            None if each is None else json.dumps(dict(zip(names, map(printed, self.values[place]), strict=True)))
            for place, each in enumerate(told)
        ]
        texts = [each and each[0] for each in told], [each and each[1] for each in told], raws
        return [pa.array(each, pa.string()) for each in texts]


def schema_of(layout: Layout) -> pa.Schema:
    """The columns of ours, then the layout's."""
    return pa.schema([*OWN, *(pa.field(each.name, required_type(each.spark_type)) for each in layout.columns)])
