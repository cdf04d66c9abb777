"""Rows of a target that stay, where they are written along with a batch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pyarrow as pa
from pyroaring import BitMap64

from incremental_assets.adapters.delta.direct.data_file import schema
from incremental_assets.adapters.delta.direct.stored_rows import bounded, row_groups
from incremental_assets.adapters.delta.direct.unit import ApplyUnit


def staying(unit: ApplyUnit, gone: Mapping[int, BitMap64]) -> pa.Table:
    """All live rows but those that are gone, by the place of their file among the unit's, as they lie there."""
    return pa.concat_tables([schema(unit).empty_table(), *bounded(_rows(unit, gone))])


def _rows(unit: ApplyUnit, gone: Mapping[int, BitMap64]) -> Iterator[pa.Table]:
    for place, add in enumerate(unit.files):
        numbers = gone.get(place, BitMap64())
        out = np.fromiter(numbers, dtype=np.int64, count=len(numbers))
        for group in row_groups(unit.table, add, ()):
            stays = group.alive
            stays[out[(out >= group.first) & (out < group.first + group.rows)] - group.first] = False
            columns = group.columns([*unit.columns, *unit.marks.columns])
            yield pa.Table.from_arrays(columns, schema=schema(unit)).filter(pa.array(stays))
