"""Runs in a task: counts and hashes the rows of some files of a table by the places of their keys, see `core.model.key_parts`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import pyarrow as pa

from incremental_assets.adapters.databases import byte_hash
from incremental_assets.adapters.delta.tasks.audit.measure_task import (
    OUTSIDE,
    MeasureUnit,
    reaches_of,
    row_hash,
    row_text,
    standing,
    summed,
    whole,
    windows_of,
)
from incremental_assets.adapters.delta.tasks.files.skipping import Reach, file_may_hold
from incremental_assets.adapters.delta.tasks.files.stored_rows import RowGroup, row_groups
from incremental_assets.adapters.delta.tasks.files.whole_numbers import Numbers
from incremental_assets.adapters.delta.tasks.query import asked, numbered
from incremental_assets.core.model.key_parts import HASH_BITS, KeyParts
from incremental_assets.core.model.measure import RowHash


class Asked(StrEnum):
    """What is wanted of the rows."""

    SPREAD = "spread"
    SUMS = "sums"
    HASHES = "hashes"
    TEXTS = "texts"


@dataclass(frozen=True, slots=True)
class PlacedUnit:
    """`measured`: files, and the windows whose rows count. `key`: places of the columns that place a row: by its value, or by their hash,
    which is `placed_by`. `within`: None: anywhere."""

    measured: MeasureUnit
    key: tuple[int, ...]
    by_value: bool
    placed_by: RowHash = RowHash.TEXT
    asked: Asked = Asked.SPREAD
    within: KeyParts | None = None
    shift: int = 0

    @property
    def size(self) -> int:
        """The bytes of its files, by which units are spread over tasks."""
        return self.measured.size


@dataclass(frozen=True, slots=True)
class _Placed:
    """Rows of a row group that are asked for, by their numbers, and their places."""

    group: RowGroup
    rows: Numbers
    places: Numbers


def apply(unit: PlacedUnit) -> tuple[int, int, int] | list[tuple[int, ...]] | list[pa.Table] | None:
    """Answers `spread` with rows and ends (None without a row), `sums` with part, rows and sum of hashes, `hashes` with place and hash of each row.

    Of `texts` each row: its columns and, behind them, their canonical text.
    """
    found = _found(unit)
    if unit.asked is Asked.TEXTS:
        return [_with_text(unit, each) for each in found]
    if unit.asked is Asked.SPREAD:
        ends = [(len(each.places), int(each.places.min()), int(each.places.max())) for each in found]
        return _wider(ends) if ends else None
    hashed = ((each.places, _hashes(unit, each)) for each in found)
    if unit.asked is Asked.HASHES:
        return [pair for places, hashes in hashed for pair in zip(places.tolist(), hashes.tolist(), strict=True)]
    rows, sums = Counter[int](), Counter[int]()
    for places, hashes in hashed:
        for part, count, total in summed(places >> unit.shift, hashes):
            rows[part] += count
            sums[part] += total
    return [(part, rows[part], sums[part]) for part in rows]


def _wider(ends: Sequence[tuple[int, int, int]]) -> tuple[int, int, int]:
    counts, lows, highs = zip(*ends, strict=True)
    return sum(counts), min(lows), max(highs)


def _found(unit: PlacedUnit) -> Iterator[_Placed]:
    within = (*reaches_of(unit.measured), *_reach(unit))
    for add in unit.measured.files:
        if file_may_hold(add.get("stats"), within):
            with row_groups(unit.measured.table, add, within) as groups:
                for group in groups:
                    rows, places = _placed(unit, group)
                    if len(rows):
                        yield _Placed(group, rows, places)


def _reach(unit: PlacedUnit) -> tuple[Reach, ...]:
    """The reach of the keys that are asked for; empty where keys lie at their hashes, of which files have no statistics."""
    if not unit.by_value or unit.within is None or not unit.within.ranges:
        return ()
    column, ranges = unit.measured.columns[unit.key[0]], unit.within.ranges
    return (Reach(column.name, column.type, ranges[0][0], ranges[-1][1]),)


def _placed(unit: PlacedUnit, group: RowGroup) -> tuple[Numbers, Numbers]:
    """Numbers of the rows that are asked for, and their places; of other columns than the key and the cursor nothing is read."""
    measured = unit.measured
    cursors = [whole(values) for values in group.columns([measured.columns[place] for place in measured.cursor])]
    stays = standing(measured, group) & (windows_of(measured, cursors, group.rows) != OUTSIDE)
    rows = np.flatnonzero(stays)
    if not len(rows):
        return rows, rows
    places = _places(unit, group, rows)
    inside = _inside(unit.within, places)
    return rows[inside], places[inside]


def _places(unit: PlacedUnit, group: RowGroup, rows: Numbers) -> Numbers:
    if unit.by_value:
        (values,) = group.columns([unit.measured.columns[unit.key[0]]])
        return values.take(pa.array(rows)).cast(pa.int64()).to_numpy()
    # How many there are is known without their hashes.
    if unit.asked is Asked.SPREAD:
        return np.zeros_like(rows)
    if unit.placed_by is RowHash.BYTES:
        return _of_bytes(unit, group, rows, unit.key) & ((1 << HASH_BITS) - 1)
    return _hashed(unit, group, rows, unit.key)


def _inside(within: KeyParts | None, places: Numbers) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    if within is None:
        return np.ones(len(places), dtype=bool)
    inside = (places >= within.lowest) & (places <= within.highest)
    if within.numbers is not None:
        inside &= np.isin(places >> within.shift, np.fromiter(within.numbers, np.int64, len(within.numbers)))
    return inside


def _hashes(unit: PlacedUnit, found: _Placed) -> Numbers:
    every = tuple(range(len(unit.measured.columns)))
    if not unit.by_value and (unit.key, unit.placed_by) == (every, unit.measured.by):
        return found.places
    hashed = _hashed if unit.measured.by is RowHash.TEXT else _of_bytes
    return hashed(unit, found.group, found.rows, every)


def _of_bytes(unit: PlacedUnit, group: RowGroup, rows: Numbers, places: Sequence[int]) -> Numbers:
    wanted, columns = pa.array(rows), [unit.measured.columns[place] for place in places]
    return byte_hash.row_hashes([values.take(wanted) for values in group.columns(columns)])


def _with_text(unit: PlacedUnit, found: _Placed) -> pa.Table:
    rows = pa.array(found.rows)
    columns = [values.take(rows) for values in found.group.columns(unit.measured.columns)]
    named = numbered([whole(values) for values in columns])
    sql = f"SELECT n, {row_text(unit.measured, range(len(columns)))} AS text FROM held ORDER BY n"  # noqa: S608 - our own names
    texts = pa.array(asked(sql, held=named)["text"], pa.string())
    return pa.Table.from_arrays([*columns, texts], names=[*map(str, range(len(columns))), "text"])


def _hashed(unit: PlacedUnit, group: RowGroup, rows: Numbers, places: Sequence[int]) -> Numbers:
    """Hashes of some columns of these rows, in their order."""
    columns = group.columns([unit.measured.columns[place] for place in places])
    named = {f"k{place}": whole(values) for place, values in zip(places, columns, strict=True)}
    held = pa.table(named).take(pa.array(rows)).append_column("n", pa.array(np.arange(len(rows))))
    sql = f"SELECT n, {row_hash(unit.measured, places)} AS hash FROM held ORDER BY n"  # noqa: S608 - our own names
    hashes: Numbers = asked(sql, held=held)["hash"]
    return hashes
