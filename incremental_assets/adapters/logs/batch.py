"""Changes of one table under one layout as a batch that has each key once: what became of it last. Or all versions, for a history.

A value that was not sent is the one that the row had before: of an earlier change in the batch, also where the row had another key then, else of the copy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from incremental_assets.adapters.logs.changes import (
    CODES,
    ORDINAL,
    OWN,
    UNSENT,
    Change,
    Offsets,
    change_codes,
    unsent_column,
    unsent_places,
)
from incremental_assets.adapters.spark.own_names import OPERATION, REJECT_COLUMN, own
from incremental_assets.core.errors import StageBroken
from incremental_assets.core.model.batch import Operation

BASE = own("base")
"""Of a row that has `UNSENT`: the key under which the copy has those values, a structure of the key's columns."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows with `OPERATION`, `put` or `gone`, and the columns of ours that changes have. `truncated`: all that the copy held before is gone."""

    rows: pa.Table
    truncated: bool


def latest(changes: pa.Table, key: Sequence[str]) -> Batch:
    """The last change of each key, in the order of the changes. Raises StageBroken."""
    lines = _lines(changes, key)
    codes = change_codes(changes)
    truncations = np.flatnonzero(codes == CODES[Change.TRUNCATE])
    begin = int(truncations[-1]) + 1 if len(truncations) else 0
    last = np.zeros(int(lines.keys.max()) + 1 if len(lines.keys) else 0, np.int64)
    # Of places that are written twice the last one stays.
    last[lines.keys] = np.arange(len(lines.keys))
    kept = np.sort(last)
    kept = kept[kept >= begin]
    return Batch(_operations(_filled(changes, key, lines, kept)), bool(len(truncations)))


def versions(changes: pa.Table, key: Sequence[str]) -> pa.Table:
    """All changes in their order, each with the values that were not sent, as far as the batch has them. Raises StageBroken."""
    return _filled(changes, key, _lines(changes, key), np.arange(len(changes)))


@dataclass(frozen=True, slots=True)
class _Lines:
    """What happened to the same row, one after the other."""

    keys: Offsets
    """A number for each key."""
    before: Offsets
    """The change before, of the row itself, which may have had another key; -1 for the first."""
    moved: npt.NDArray[np.bool_]
    """Where a row got another key: the change just before names the old one."""


def _lines(changes: pa.Table, key: Sequence[str]) -> _Lines:
    keys = _numbered(changes, key)
    order = np.argsort(keys, kind="stable")
    before = np.full(len(keys), -1, np.int64)
    same = keys[order[1:]] == keys[order[:-1]]
    before[order[1:][same]] = order[:-1][same]
    left = np.flatnonzero(np.array(changes.column(ORDINAL)) % 2)
    moved = np.zeros(len(keys), bool)
    moved[left + 1] = True
    before[left + 1] = before[left]
    return _Lines(keys, before, moved)


def _numbered(changes: pa.Table, key: Sequence[str]) -> Offsets:
    if not key:
        return np.arange(len(changes))
    numbers = np.zeros(len(changes), np.int64)
    for name in key:
        column = changes.column(name).combine_chunks()
        if pa.types.is_floating(column.type):
            # Zero has two signs, and is one key.
            column = pc.add(column, 0.0)
        part = np.array(column.dictionary_encode(null_encoding="encode").indices, np.int64)
        numbers = np.unique(numbers * (int(part.max()) + 1 if len(part) else 1) + part, return_inverse=True)[1]
    # A key that no copy can hold is none: each such row is kept.
    alone = np.array(
        pc.fill_null(pc.is_in(changes.column(REJECT_COLUMN), pa.array(list(key), pa.string())), fill_value=False)
    )
    alone |= change_codes(changes) == CODES[Change.TRUNCATE]
    numbers[alone] = len(changes) + np.arange(int(alone.sum()))
    return np.unique(numbers, return_inverse=True)[1].astype(np.int64)


def _filled(changes: pa.Table, key: Sequence[str], lines: _Lines, kept: Offsets) -> pa.Table:
    columns = [name for name in changes.column_names if name not in OWN.names]
    # They are in order, and a filter copies no more than a chunk at a time, whatever there is in all.
    wanted = np.zeros(len(changes), bool)
    wanted[kept] = True
    found = changes.filter(pa.array(wanted))
    if changes.column(UNSENT).null_count == len(changes):
        return found.append_column(BASE, pa.nulls(len(kept), _base_type(changes, key)))
    unsent = unsent_places(changes, len(columns))
    gone = np.isin(change_codes(changes), (CODES[Change.DELETE], CODES[Change.TRUNCATE]))
    left: list[npt.NDArray[np.bool_]] = []
    first = np.full(len(kept), -1, np.int64)
    for place, name in enumerate(columns):
        if not unsent[kept, place].any():
            left.append(np.zeros(len(kept), bool))
            continue
        source = _source(unsent[:, place], lines.before)[kept]
        if (gone[source] & (source != kept)).any():
            raise StageBroken(
                "a change of the log goes on from a row that was gone; nothing was written, please report it"
            )
        found = found.set_column(
            found.schema.get_field_index(name), changes.schema.field(name), changes.column(name).take(pa.array(source))
        )
        left.append(unsent[source, place])
        first = np.where(left[-1], source, first)
    found = found.set_column(found.schema.get_field_index(UNSENT), UNSENT, unsent_column(left, len(kept)))
    if not key:
        return found.append_column(BASE, pa.nulls(len(kept), _base_type(changes, key)))
    # The first change of a row goes on from what the copy has under the key of that moment.
    based = np.where(lines.moved[first], first - 1, first)
    base = pa.StructArray.from_arrays(
        [changes.column(name).combine_chunks().take(pa.array(based, mask=first < 0)) for name in key],
        fields=list(_base_type(changes, key)),
        mask=pa.array(first < 0),
    )
    return found.append_column(BASE, base)


def _source(unsent: npt.NDArray[np.bool_], before: Offsets) -> Offsets:
    """For each change where the value comes from: itself, or the nearest before it that has it, or the first, which has not."""
    source = np.where(unsent & (before >= 0), before, np.arange(len(before)))
    while True:
        # Twice as far each time.
        further = source[source]
        if (further == source).all():
            return source
        source = further


def _operations(rows: pa.Table) -> pa.Table:
    gone = change_codes(rows) == CODES[Change.DELETE]
    operation = pc.if_else(pa.array(gone), Operation.GONE.value, Operation.PUT.value)
    return rows.append_column(OPERATION, operation)


def _base_type(changes: pa.Table, key: Sequence[str]) -> pa.StructType:
    return pa.struct([changes.schema.field(name) for name in key])
