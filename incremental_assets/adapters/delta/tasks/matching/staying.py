"""Rows of a target that stay, where they are written along with a batch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import pyarrow as pa
from pyroaring import BitMap64

from incremental_assets.adapters.delta.tasks.files.data_file import schema
from incremental_assets.adapters.delta.tasks.files.row_numbers import numbers_of
from incremental_assets.adapters.delta.tasks.files.staged_rows import Flags
from incremental_assets.adapters.delta.tasks.files.stored_rows import RowGroup, row_groups
from incremental_assets.adapters.delta.tasks.files.unit import ApplyUnit


def staying(unit: ApplyUnit, places: Iterable[int], gone: Mapping[int, BitMap64]) -> Iterator[pa.Table]:
    """All live rows of some files, by their places among the unit's, but those that are gone, as they lie there."""
    for place in places:
        add, out = unit.files[place], numbers_of(gone.get(place, BitMap64()))
        with row_groups(unit.table, add, ()) as groups:
            for group in groups:
                yield _rows(unit, group, group.alive_but(out))


def _rows(unit: ApplyUnit, group: RowGroup, stays: Flags) -> pa.Table:
    columns = group.columns([*unit.columns, *unit.marks.stored])
    return pa.Table.from_arrays(columns, schema=schema(unit)).filter(pa.array(stays))
