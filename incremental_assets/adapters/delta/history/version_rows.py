"""Versions as tables of Arrow: what a task that follows one batch and one that begins a history have in common."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from incremental_assets.adapters.delta.history.unit import HistoryUnit
from incremental_assets.adapters.delta.tasks.files import data_file
from incremental_assets.adapters.delta.tasks.files.staged_rows import Flags
from incremental_assets.adapters.delta.tasks.files.unit import Marks, Stored
from incremental_assets.adapters.spark.arrow_types import FLOATING, required_type


def stamps(unit: HistoryUnit, seen: pa.Table) -> np.ndarray[Any, np.dtype[np.int64]]:
    """When rows of the copy say that they were changed, at the latest at the snapshot."""
    told = pa.chunked_array([pa.nulls(seen.num_rows, pa.int64())])
    for place in reversed(unit.batch.told):
        # A date is its first moment.
        told = pc.coalesce(seen[place].cast(pa.timestamp("us")).cast(pa.int64()), told)
    return np.minimum(pc.fill_null(told, unit.clock).to_numpy(), unit.clock)


def versions(unit: HistoryUnit, rows: pa.Table, begins: np.ndarray[Any, Any], *, gone: bool) -> pa.Table:
    """New versions with these values, which begin then; `gone`: they say that their row is gone."""
    of, marks = unit.own, unit.marks
    values: Mapping[str, Any] = {
        of.deleted.name: gone,
        of.run_id.name: marks.run_id,
        of.seq.name: marks.seq,
        of.at.name: marks.at,
    }
    if of.valid_from and of.valid_to and of.is_current:
        values = {of.valid_from.name: begins, of.valid_to.name: None, of.is_current.name: not gone, **values}
    columns = [filled(values[each.name], each.type, rows.num_rows) for each in of.all]
    return pa.Table.from_arrays([*rows.columns, *columns], names=names_of(unit))


def is_same(unit: HistoryUnit, left: pa.Table, right: pa.Table, asked: Flags) -> Flags:
    """Of the pairs of rows that are asked for whether both have the same values beside the key. Floats by their texts, as -0.0 and 0.0 are two values for a source."""
    same = asked.copy()
    for place, column in enumerate(unit.columns):
        if place in unit.key or not same.any():
            continue
        ours, theirs = left[place], right[place]
        if column.type in FLOATING:
            ours, theirs = ours.cast(pa.string()), theirs.cast(pa.string())
        equal = pc.fill_null(pc.equal(ours, theirs), pc.and_(pc.is_null(ours), pc.is_null(theirs)))
        same &= equal.to_numpy(zero_copy_only=False)
    return same


def columns_of(unit: HistoryUnit) -> tuple[Stored, ...]:
    """All that a history's files hold, in their order."""
    return (*unit.columns, *unit.own.all)


def names_of(unit: HistoryUnit) -> list[str]:
    """Their names in the files."""
    return [each.name for each in columns_of(unit)]


def named(values: list[pa.ChunkedArray], unit: HistoryUnit) -> pa.Table:
    """Rows of the copy under the names that the history's files have."""
    return pa.Table.from_arrays(values, names=[each.name for each in unit.columns])


def nothing(columns: tuple[Stored, ...]) -> pa.Table:
    """No rows of these columns."""
    return pa.schema([(each.name, required_type(each.type)) for each in columns]).empty_table()


def filled(value: Any, kind: str, count: int) -> pa.ChunkedArray:
    """A column of one value, or of moments in microseconds since 1970."""
    of = required_type(kind)
    if isinstance(value, np.ndarray):
        return pa.chunked_array([pa.array(value, pa.int64()).cast(of)])
    return pa.chunked_array([pa.nulls(count, of) if value is None else pa.repeat(pa.scalar(value, of), count)])


def schema(unit: HistoryUnit) -> pa.Schema:
    """The schema of the files of a history."""
    beside = unit.own.all[: -len(unit.marks.columns)]
    return data_file.schema(_Files((*unit.columns, *beside), unit.marks))


@dataclass(frozen=True, slots=True)
class _Files:
    """What the files of a history hold."""

    columns: tuple[Stored, ...]
    marks: Marks
