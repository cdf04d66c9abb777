"""Runs in a task: writes one file anew without the rows that are older than they are kept. It holds a row group at a time."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from incremental_assets.adapters.delta.tasks.files.data_file import schema_of, write_rows
from incremental_assets.adapters.delta.tasks.files.key_set import KeySet
from incremental_assets.adapters.delta.tasks.files.staged_rows import Flags
from incremental_assets.adapters.delta.tasks.files.stored_rows import RowGroup, row_groups
from incremental_assets.adapters.delta.tasks.files.unit import Stored
from incremental_assets.adapters.delta.tasks.forgetting.unit import Closed, ForgetUnit, Forgotten, Landed, Old


def apply(unit: ForgetUnit) -> Forgotten:
    """Raises NotByTasks for what only Spark should read."""
    with row_groups(unit.table, unit.file, ()) as groups:
        goes = [group.alive & _old(unit.old, group) for group in groups]
        rows = sum(int(each.sum()) for each in goes)
        if not rows and not any(_holds_marked(unit.old, group) for group in groups):
            return Forgotten()
        add = write_rows(unit.table, unit.statistics, _kept(unit, groups, goes), time.time_ns() // 1_000_000)
    return Forgotten(rows, add, changed=True)


def _holds_marked(old: Old, group: RowGroup) -> bool:
    """Whether it has rows from before that nobody sees any more, whose values lie there all the same."""
    return bool(len(group.dead)) and bool((~group.alive & _earlier(_one(group, old.since), old.before)).any())


def _kept(unit: ForgetUnit, groups: Sequence[RowGroup], goes: Sequence[Flags]) -> Iterator[pa.Table]:
    schema = schema_of(unit.columns)
    for group, old in zip(groups, goes, strict=True):
        stays = group.alive & ~old
        if stays.any():
            yield pa.Table.from_arrays(group.columns(unit.columns), schema=schema).filter(pa.array(stays))


def _old(old: Old, group: RowGroup) -> Flags:
    found: Flags = np.zeros(group.rows, dtype=bool)
    if old.closed is not None:
        found |= _closed(old, old.closed, group)
    if old.landed is not None:
        found |= _landed(old, old.landed, group)
    return found


def _closed(old: Old, of: Closed, group: RowGroup) -> Flags:
    ends = _one(group, of.ends)
    found: Flags = _earlier(ends, old.before)
    if of.gone is not None and of.begins is not None:
        found |= ends.is_null().to_numpy() & _is(group, of.gone) & _earlier(_one(group, of.begins), old.before)
    return found


def _landed(old: Old, of: Landed, group: RowGroup) -> Flags:
    found: Flags = _earlier(_one(group, old.since), old.before)
    if of.held is not None:
        found &= ~_is(group, of.held)
    if old.closed is not None:
        # One that was resolved goes by when it was.
        found &= _one(group, old.closed.ends).is_null().to_numpy()
    key = group.columns(of.key)
    for column in key:
        found &= column.is_valid().to_numpy()
    if of.waiting and of.waiting[0]:
        known = KeySet.of([pa.chunked_array([pa.array(texts, pa.string())]) for texts in of.waiting])
        found[known.found(key)[0]] = False
    return found


def _is(group: RowGroup, column: Stored) -> Flags:
    found: Flags = pc.fill_null(_one(group, column), False).to_numpy()  # noqa: FBT003 - Arrow's own order
    return found


def _one(group: RowGroup, column: Stored) -> pa.ChunkedArray:
    return group.columns([column])[0]


def _earlier(moments: pa.ChunkedArray, before: int) -> Flags:
    found: Flags = pc.fill_null(pc.less(moments.cast(pa.int64()), before), False).to_numpy()  # noqa: FBT003 - Arrow's own order
    return found
