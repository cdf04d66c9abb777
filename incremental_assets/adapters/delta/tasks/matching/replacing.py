"""An upsert: which rows of the batch land, and which of the target's rows are no more for it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyroaring import BitMap64

from incremental_assets.adapters.delta.tasks.files.data_file import shaped
from incremental_assets.adapters.delta.tasks.files.key_set import KeySet
from incremental_assets.adapters.delta.tasks.files.row_numbers import vector_of
from incremental_assets.adapters.delta.tasks.files.skipping import MOMENTS, Among, Reach, file_may_hold
from incremental_assets.adapters.delta.tasks.files.staged_rows import (
    UNFIT,
    Flags,
    StagedRows,
    leaving,
    staged,
    staged_name,
)
from incremental_assets.adapters.delta.tasks.files.stored_rows import RowGroup, row_groups
from incremental_assets.adapters.delta.tasks.files.unit import ApplyUnit, Replacing, Staying, Stored
from incremental_assets.adapters.delta.tasks.files.whole_numbers import Numbers
from incremental_assets.adapters.spark.arrow_types import FLOATING
from incremental_assets.core.model.column import WHOLE

_HELD_ROWS = 2**20
"""The rows of a file whose keys are looked up together: to make keys ready for that takes as long as to look as many up."""
_MOST_AMONG = 128 * 1024
"""Keys by each of which files and row groups are chosen; where there are more, one lies in nearly each of them, and to sort them takes longer."""


@dataclass(frozen=True, slots=True)
class Changed:
    """`chosen`: whether each row of the batch is written, None for all. `gone`: rows of the target that are no more, by the place of their file among the unit's. `left`: how many of them get no row in their place, and `unfit` those of these that cannot land. `flagged`: rows that come again, marked as gone."""

    chosen: Flags | None
    gone: dict[int, BitMap64] = field(default_factory=dict)
    left: int = 0
    unfit: int = 0
    flagged: tuple[pa.Table, ...] = ()


@dataclass(frozen=True, slots=True)
class _Pairs:
    """Rows of a file, and the number of the key that each of them has."""

    file: int
    rows: Numbers
    keys: Numbers


def changed(unit: ApplyUnit, how: Replacing, batch: StagedRows) -> Changed:
    """Rows that the target does not hold as they are, and the rows whose key they have, or that leave."""
    keys = [batch.column(place) for place in how.key]
    landing, going = len(keys[0]), _going(unit, how, batch)
    if going is not None:
        keys = [_joined(parts) for parts in zip(keys, going.columns[:-1], strict=True)]
    if not len(keys[0]):
        return Changed(None)
    equal, flags = np.zeros(len(keys[0]), dtype=bool), np.zeros(len(keys[0]), dtype=bool)
    unfit = np.concatenate([equal[:landing], equal[landing:] if going is None else going[UNFIT].to_numpy()])
    if how.flagged_at is not None:
        flags[landing:] = ~unfit[landing:]
    found, flagged, ours, alike = [], [], cache(batch.whole), _alike(unit, how, batch)
    for pairs, was_gone, group in _standing(unit, _pairs(unit, how, keys, range(len(unit.files))), flags):
        found.append(pairs)
        if (again := flags[pairs.keys]).any():
            flagged.append(_flagged(unit, how, group, pairs.rows[again] - group.first))
        lands = (pairs.keys < landing) & ~was_gone
        if how.compares and lands.any() and group.may_hold(alike):
            both = _Pairs(pairs.file, pairs.rows[lands] - group.first, pairs.keys[lands])
            equal[both.keys[_equal(unit, how, group, both, ours)]] = True
    left = np.concatenate([pairs.keys for pairs in found] or [np.empty(0, dtype=np.int64)])
    left = left[(left >= landing) & ~flags[left]]
    chosen = ~equal[:landing] if equal.any() else None
    return Changed(chosen, _marks(found, equal), len(left), int(unfit[left].sum()), tuple(flagged))


def _standing(
    unit: ApplyUnit, found: Iterator[tuple[_Pairs, RowGroup]], flags: Flags
) -> Iterator[tuple[_Pairs, Flags, RowGroup]]:
    """The pairs without rows that are marked as gone already and would only be marked again; with whether each of the others is marked, and its row group."""
    for pairs, group in found:
        was_gone = np.zeros(len(pairs.rows), dtype=bool)
        if unit.marks.gone is not None:
            (gone,) = group.columns([unit.marks.gone])
            was_gone = gone.take(pa.array(pairs.rows - group.first)).is_valid().to_numpy()
        stays = ~(was_gone & flags[pairs.keys])
        if stays.any():
            yield _Pairs(pairs.file, pairs.rows[stays], pairs.keys[stays]), was_gone[stays], group


def _flagged(unit: ApplyUnit, how: Replacing, group: RowGroup, rows: Numbers) -> pa.Table:
    """Rows of the target as they are to stand there from now on."""
    names = [staged_name(place) for place in range(len(unit.columns))]
    return shaped(unit, pa.table(group.columns(unit.columns), names=names).take(pa.array(rows)), how.flagged_at)


def _alike(unit: ApplyUnit, how: Replacing, batch: StagedRows) -> tuple[Reach | Among, ...]:
    """The reach of the batch's cursors, outside of which no row can be equal, so that most row groups are not read; empty where there is none."""
    if not how.compares or how.cursor is None:
        return ()
    return reaches([unit.columns[how.cursor]], [batch.column(how.cursor)])


def replaced(unit: ApplyUnit, how: Staying) -> dict[int, BitMap64]:
    """Rows of its files that have a key of the batch."""
    with staged(unit, None) as batch:
        keys = [batch.column(place) for place in how.key]
    gone: dict[int, BitMap64] = {}
    for pairs, _ in _pairs(unit, how, keys, how.places):
        gone[pairs.file] = gone.get(pairs.file, BitMap64()) | vector_of(pairs.rows)
    return gone


def reaches(columns: list[Stored], values: list[pa.ChunkedArray]) -> tuple[Reach | Among, ...]:
    """A reach for each column of whole numbers, moments or dates without a NULL; other columns have none."""
    return tuple(found for column, each in zip(columns, values, strict=True) if (found := _reach(column, each)))


def _reach(column: Stored, values: pa.ChunkedArray) -> Reach | Among | None:
    if column.type not in (*WHOLE, *MOMENTS, "date") or values.null_count:
        return None
    whole = values.cast(pa.int32()).cast(pa.int64()) if column.type == "date" else values.cast(pa.int64())
    if len(whole) <= _MOST_AMONG:
        return Among(column.name, column.type, np.sort(whole.to_numpy()))
    ends = pc.min_max(whole).as_py()
    return Reach(column.name, column.type, ends["min"], ends["max"])


def _going(unit: ApplyUnit, how: Replacing, batch: StagedRows) -> pa.Table | None:
    """Keys that leave: of the whole batch, as a row with one of them may land anywhere in it."""
    if not how.leaves:
        return None
    if unit.groups is None:
        return leaving(batch, how.key)
    with staged(unit, None) as whole:
        return leaving(whole, how.key)


def _pairs(
    unit: ApplyUnit, how: Replacing | Staying, keys: list[pa.ChunkedArray], places: Iterable[int]
) -> Iterator[tuple[_Pairs, RowGroup]]:
    """Live rows of the target that have one of these keys, by their numbers in the file."""
    columns = [unit.columns[place] for place in how.key]
    within, known = (*unit.within, *reaches(columns, keys)), KeySet.of(keys)
    for place in places:
        add = unit.files[place]
        if not file_may_hold(add.get("stats"), within):
            continue
        with row_groups(unit.table, add, within) as groups:
            for run in _runs(groups):
                held = zip(*(group.columns(columns) for group in run), strict=True)
                rows, theirs = known.found([_joined(parts) for parts in held])
                start = 0
                for group in run:
                    first, end = np.searchsorted(rows, (start, start + group.rows))
                    mine = rows[first:end] - start
                    alive = group.alive[mine]
                    start += group.rows
                    if alive.any():
                        yield _Pairs(place, mine[alive] + group.first, theirs[first:end][alive]), group


def _runs(groups: Sequence[RowGroup]) -> Iterator[list[RowGroup]]:
    held: list[RowGroup] = []
    for group in groups:
        held.append(group)
        if sum(each.rows for each in held) >= _HELD_ROWS:
            yield held
            held = []
    if held:
        yield held


def _joined(parts: Iterable[pa.ChunkedArray]) -> pa.ChunkedArray:
    first, *others = parts
    # With its type: of a batch in which nothing lands, and nothing leaves, there is no chunk.
    return pa.chunked_array([chunk for part in (first, *others) for chunk in part.chunks], first.type)


def _equal(unit: ApplyUnit, how: Replacing, group: RowGroup, pairs: _Pairs, batch: Callable[[int], pa.Array]) -> Flags:
    """Whether all other columns are equal, for each pair of rows of one key; floats as their texts, as -0.0 and 0.0 are two values for a source."""
    same = np.ones(len(pairs.rows), dtype=bool)
    held, landing = pa.array(pairs.rows), pa.array(pairs.keys)
    # The cursor first: a row that has changed nearly always has another one, and then no other column is read.
    for place in sorted(set(range(len(unit.columns))) - {*how.key}, key=lambda place: (place != how.cursor, place)):
        if not same.any():
            break
        column = unit.columns[place]
        (there,) = group.columns([column])
        ours, theirs = batch(place).take(landing), there.take(held)
        if column.type in FLOATING:
            ours, theirs = ours.cast(pa.string()), theirs.cast(pa.string())
        alike = pc.fill_null(pc.equal(ours, theirs), pc.and_(pc.is_null(ours), pc.is_null(theirs)))
        same &= alike.to_numpy()
    return same


def _marks(found: list[_Pairs], equal: Flags) -> dict[int, BitMap64]:
    gone: dict[int, BitMap64] = {}
    for pairs in found:
        numbers = pairs.rows[~equal[pairs.keys]]
        if len(numbers):
            gone[pairs.file] = gone.get(pairs.file, BitMap64()) | vector_of(numbers)
    return gone
