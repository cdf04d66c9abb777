"""An upsert: which rows of the batch land, and which of the target's rows are no more for it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyroaring import BitMap64

from incremental_assets.adapters.delta.direct.query import asked, numbered
from incremental_assets.adapters.delta.direct.skipping import MOMENTS, WHOLE, Reach, file_may_hold
from incremental_assets.adapters.delta.direct.staged_rows import UNFIT, leaving, staged_name
from incremental_assets.adapters.delta.direct.stored_rows import Numbers, RowGroup, row_groups
from incremental_assets.adapters.delta.direct.unit import ApplyUnit, Replacing, Stored

_FLOATING = ("float", "double")


@dataclass(frozen=True, slots=True)
class Changed:
    """Rows to write; per file, by its place among the unit's, the rows that are no more; and of those the ones without a row in their place."""

    rows: pa.Table
    gone: dict[int, BitMap64] = field(default_factory=dict)
    left: int = 0
    unfit: int = 0


@dataclass(frozen=True, slots=True)
class _Pairs:
    """Rows of a file, and the number of the key that each of them has."""

    file: int
    rows: Numbers
    keys: Numbers


def changed(unit: ApplyUnit, how: Replacing, batch: pa.Table) -> Changed:
    """Rows that the target does not hold as they are, and the rows whose key they have, or that leave."""
    going = leaving(unit, how.key, batch) if how.leaves else None
    keys = [batch[staged_name(place)] for place in how.key]
    if going is not None:
        keys = [pa.chunked_array([*ours.chunks, *going[f"k{place}"].chunks]) for place, ours in enumerate(keys)]
    landing = batch.num_rows
    if not len(keys[0]):
        return Changed(batch)
    equal = np.zeros(len(keys[0]), dtype=bool)
    found = []
    for pairs, group in _pairs(unit, how, numbered(keys)):
        found.append(pairs)
        ours = np.flatnonzero(pairs.keys < landing)
        if how.compares and len(ours):
            theirs = pairs.keys[ours]
            same = _equal(unit, how, group, pairs.rows[ours] - group.first, batch.take(pa.array(theirs)))
            equal[theirs[same]] = True
    gone = _marks(found, equal)
    rows = batch.filter(pa.array(~equal[:landing])) if equal.any() else batch
    if going is None:
        return Changed(rows, gone)
    left = np.concatenate([pairs.keys[pairs.keys >= landing] for pairs in found] or [np.empty(0, dtype=np.int64)])
    unfit = going[UNFIT].to_numpy()
    return Changed(rows, gone, len(left), int(unfit[left - landing].sum()))


def reaches(columns: list[Stored], values: list[pa.ChunkedArray]) -> tuple[Reach, ...]:
    """Between which ends keys lie, in each of their columns whose ends a file tells."""
    return tuple(found for column, each in zip(columns, values, strict=True) if (found := _reach(column, each)))


def _reach(column: Stored, values: pa.ChunkedArray) -> Reach | None:
    if column.type not in (*WHOLE, *MOMENTS, "date") or values.null_count:
        return None
    whole = values.cast(pa.int32()).cast(pa.int64()) if column.type == "date" else values.cast(pa.int64())
    ends = pc.min_max(whole).as_py()
    return Reach(column.name, column.type, ends["min"], ends["max"])


def _pairs(unit: ApplyUnit, how: Replacing, keys: pa.Table) -> Iterator[tuple[_Pairs, RowGroup]]:
    """Live rows of the target that have one of these keys, by their numbers in the file."""
    columns = [unit.columns[place] for place in how.key]
    within = (*unit.within, *reaches(columns, keys.columns[:-1]))
    for place, add in enumerate(unit.files):
        if not file_may_hold(add.get("stats"), within):
            continue
        for group in row_groups(unit.table, add, within):
            rows, theirs = _matches(group.columns(columns), keys)
            alive = group.alive[rows]
            if alive.any():
                yield _Pairs(place, rows[alive] + group.first, theirs[alive]), group


def _matches(there: list[pa.ChunkedArray], keys: pa.Table) -> tuple[Numbers, Numbers]:
    """Numbers of rows and of keys that are the same, NULL being equal to NULL."""
    same = " AND ".join(f"held.k{place} IS NOT DISTINCT FROM asked.k{place}" for place in range(len(there)))
    found = asked(
        f"SELECT held.n AS row, asked.n AS key FROM held JOIN asked ON {same}",  # noqa: S608 - our own names
        held=numbered(there),
        asked=keys,
    )
    return found["row"], found["key"]


def _equal(unit: ApplyUnit, how: Replacing, group: RowGroup, rows: Numbers, batch: pa.Table) -> np.ndarray:
    """Per pair of rows of one key, whether all other columns are equal; floats as their texts, as -0.0 and 0.0 are two values for a source."""
    same = np.ones(len(rows), dtype=bool)
    numbers = pa.array(rows)
    # The cursor first: a row that has changed nearly always has another one, and then no other column is read.
    for place in sorted(set(range(len(unit.columns))) - {*how.key}, key=lambda place: (place != how.cursor, place)):
        if not same.any():
            break
        column = unit.columns[place]
        (there,) = group.columns([column])
        ours, theirs = batch[staged_name(place)], there.take(numbers)
        if column.type in _FLOATING:
            ours, theirs = ours.cast(pa.string()), theirs.cast(pa.string())
        alike = pc.fill_null(pc.equal(ours, theirs), pc.and_(pc.is_null(ours), pc.is_null(theirs)))
        same &= alike.to_numpy()
    return same


def _marks(found: list[_Pairs], equal: np.ndarray) -> dict[int, BitMap64]:
    gone: dict[int, BitMap64] = {}
    for pairs in found:
        numbers = pairs.rows[~equal[pairs.keys]]
        if len(numbers):
            gone[pairs.file] = gone.get(pairs.file, BitMap64()) | BitMap64(numbers.tolist())
    return gone
