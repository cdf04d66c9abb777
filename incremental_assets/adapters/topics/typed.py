"""Values of a copy as those of decoded records, in which days and moments are numbers."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from incremental_assets.adapters.topics.changes import Key


def plain(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Days and moments as the numbers that decoding gives."""
    if pa.types.is_date32(values.type):
        return values.cast(pa.int32())
    return values.cast(pa.int64()) if pa.types.is_timestamp(values.type) else values


def keys_of(rows: pa.Table, names: Sequence[str]) -> list[Key]:
    """The key of each row, as decoding gives it."""
    return list(zip(*(plain(rows.column(name)).to_pylist() for name in names), strict=True))
