"""Rows of a target that stay, where they are written along with a batch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import numpy as np
import pyarrow as pa
from pyroaring import BitMap64

from incremental_assets.adapters.delta.direct.data_file import schema
from incremental_assets.adapters.delta.direct.stored_rows import row_groups
from incremental_assets.adapters.delta.direct.unit import ApplyUnit


def staying(unit: ApplyUnit, places: Iterable[int], gone: Mapping[int, BitMap64]) -> Iterator[pa.Table]:
    """All live rows of some files, by their places among the unit's, but those that are gone, as they lie there."""
    for place in places:
        add, numbers = unit.files[place], gone.get(place, BitMap64())
        out = np.fromiter(numbers, dtype=np.int64, count=len(numbers))
        with row_groups(unit.table, add, ()) as groups:
            for group in groups:
                stays = group.alive
                stays[out[(out >= group.first) & (out < group.first + group.rows)] - group.first] = False
                columns = group.columns([*unit.columns, *unit.marks.stored])
                yield pa.Table.from_arrays(columns, schema=schema(unit)).filter(pa.array(stays))
