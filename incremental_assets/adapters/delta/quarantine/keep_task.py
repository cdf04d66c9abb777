"""Runs in a task: writes the rows of a batch that cannot land to a file of their quarantine, but for those that it has already."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from incremental_assets.adapters.delta.quarantine.rejected import Rejected, rejected, value
from incremental_assets.adapters.delta.quarantine.texts import contents
from incremental_assets.adapters.delta.quarantine.unit import CopyKeys, KeepUnit, Kept
from incremental_assets.adapters.delta.tasks.files import data_file
from incremental_assets.adapters.delta.tasks.files.key_set import KeySet
from incremental_assets.adapters.delta.tasks.files.skipping import file_may_hold, file_may_hold_texts, has_nulls
from incremental_assets.adapters.delta.tasks.files.staged_rows import Flags, StagedGroup, staged_groups, staged_name
from incremental_assets.adapters.delta.tasks.files.stored_rows import RowGroup, bounded, row_groups
from incremental_assets.adapters.delta.tasks.matching.replacing import reaches
from incremental_assets.adapters.spark.arrow_types import required_type


def apply(unit: KeepUnit) -> Kept:
    """What the commit adds. Raises NotByTasks for what only Spark should read or write."""
    with staged_groups(unit.staged) as groups:
        there = _there(unit, groups)
        older = None if unit.copy is None else _Older(unit, unit.copy, groups)
        rows = late = 0

        def fresh() -> Iterator[pa.Table]:
            nonlocal rows, late
            for each in _rejected(unit, groups):
                hashes = contents(each.texts)
                new = _taken(there, hashes)
                stale = np.zeros(len(new), dtype=bool) if older is None or not each.held else older.of(each.rows)
                rows += int(new.sum())
                # What the copy shows came in time, and is held since a contract was altered.
                late += int((new & each.late & ~stale).sum())
                if new.any():
                    yield _written(unit, each, hashes, stale).filter(pa.array(new))

        return Kept(data_file.write(unit, fresh(), time.time_ns() // 1_000_000), rows, late)


def _rejected(unit: KeepUnit, groups: Sequence[StagedGroup]) -> Iterator[Rejected]:
    return rejected(groups, unit.names, unit.types)


def _there(unit: KeepUnit, groups: Sequence[StagedGroup]) -> Counter[str]:
    """How often the quarantine has each of the batch's rows, of those that nothing has resolved.

    A row that is there has the values of one of the batch's in the columns that tell rows apart, so that only such rows are read whole. The
    content that is stored with a row is not looked at: it is of the columns, and their order, that the table had then.
    """
    counted: Counter[str] = Counter()
    files = [
        add for add in unit.files if unit.resolved_at is None or has_nulls(add.get("stats"), unit.resolved_at.name)
    ]
    if not files:
        return counted
    telling, texts = [unit.columns[place] for place in unit.telling], unit.columns[: unit.texts]
    asked = _asked(unit, groups)
    known = KeySet.of(asked.columns)
    sought = {column.name: _in_order(values) for column, values in zip(telling, asked.columns, strict=True)}
    for add in files:
        if not file_may_hold_texts(add.get("stats"), sought):
            continue
        with row_groups(unit.table, add, ()) as stored:
            for group in stored:
                rows, _ = known.found(group.columns([column])[0] for column in telling)
                rows = rows[_unresolved(unit, group)[rows]] if len(rows) else rows
                if len(rows):
                    counted.update(contents([column.take(pa.array(rows)) for column in group.columns(texts)]))
    return counted


def _asked(unit: KeepUnit, groups: Sequence[StagedGroup]) -> pa.Table:
    """What the batch's rows have in the columns that tell rows apart, each once. Raises NotByTasks where that is too much to be held."""
    names = [f"t{place}" for place in range(len(unit.telling))]
    schema = pa.schema([(name, pa.string()) for name in names])
    found = (
        pa.Table.from_arrays([each.texts[place] for place in unit.telling], schema=schema).group_by(names).aggregate([])
        for each in _rejected(unit, groups)
    )
    return pa.concat_tables([schema.empty_table(), *bounded(found)]).group_by(names).aggregate([])


def _in_order(values: pa.ChunkedArray) -> list[str] | None:
    """The values, each once, in order; None where one is NULL."""
    return None if values.null_count else sorted(values.unique().to_pylist())


def _unresolved(unit: KeepUnit, group: RowGroup) -> Flags:
    if unit.resolved_at is None:
        return group.alive
    unresolved: Flags = group.alive & group.columns([unit.resolved_at])[0].is_null().to_numpy()
    return unresolved


def _taken(there: Counter[str], hashes: Sequence[str]) -> Flags:
    """Whether each row is written: not where the quarantine has it, for which `there` is counted down."""
    new = np.ones(len(hashes), dtype=bool)
    for place, each in enumerate(hashes):
        if there[each] > 0:
            there[each] -= 1
            new[place] = False
    return new


class _Older:
    """Keys of rows that are held, with whether the copy shows a row of each: a version that landed before, an earlier one or the same."""

    def __init__(self, unit: KeepUnit, copy: CopyKeys, groups: Sequence[StagedGroup]) -> None:
        self._unit = unit
        kinds = pa.schema([(f"k{place}", required_type(unit.types[place])) for place in unit.key])
        held = (self._keys(each.rows) for each in _rejected(unit, groups) if each.held)
        parts = [pa.Table.from_arrays(keys, schema=kinds) for keys in held]
        # NULL is no key: it is equal to nothing.
        keys = pa.concat_tables([kinds.empty_table(), *parts]).drop_null().group_by(kinds.names).aggregate([])
        self._known = KeySet.of(keys.columns)
        self._shown = np.zeros(keys.num_rows, dtype=bool)
        if not keys.num_rows:
            return
        within = reaches(list(copy.columns), list(keys.columns))
        for add in copy.files:
            if not file_may_hold(add.get("stats"), within):
                continue
            with row_groups(copy.table, add, within) as stored:
                for group in stored:
                    live = group.alive
                    if copy.gone is not None:
                        live &= group.columns([copy.gone])[0].is_null().to_numpy()
                    rows, numbers = self._known.found(group.columns(copy.columns))
                    self._shown[numbers[live[rows]]] = True

    def of(self, rows: pa.Table) -> Flags:
        """Whether the copy shows a row with the key of each."""
        found = np.zeros(rows.num_rows, dtype=bool)
        if len(self._shown):
            places, numbers = self._known.found(self._keys(rows))
            found[places] = self._shown[numbers]
        return found

    def _keys(self, rows: pa.Table) -> list[pa.ChunkedArray]:
        return [value(rows, place, self._unit.types[place]) for place in self._unit.key]


def _written(unit: KeepUnit, found: Rejected, hashes: Sequence[str], stale: Flags) -> pa.Table:
    """The rows as the quarantine's files have them."""
    count = found.rows.num_rows
    columns: list[pa.ChunkedArray | pa.Array] = [*found.texts]
    if unit.held:
        # NULL where it is not, as in the rows of an earlier release.
        columns.append(pa.array(np.ones(count, dtype=bool)) if found.held else pa.nulls(count, pa.bool_()))
    if unit.told:
        columns.append(pa.array(stale) if found.held else pa.nulls(count, pa.bool_()))
        columns.append(pa.array(hashes) if found.held else pa.nulls(count, pa.string()))
        columns += [pa.nulls(count, required_type(each.type)) for each in unit.columns[len(columns) :]]
    return data_file.shaped(unit, pa.table(columns, names=[staged_name(place) for place in range(len(columns))]))
