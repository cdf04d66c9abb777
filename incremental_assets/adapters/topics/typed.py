"""Values of decoded records as those of a copy, and the other way round: days and moments are numbers where they are decoded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from incremental_assets.adapters.topics.changes import Key


def plain(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Days and moments as the numbers that decoding gives."""
    if pa.types.is_date32(values.type):
        return values.cast(pa.int32())
    return values.cast(pa.int64()) if pa.types.is_timestamp(values.type) else values


def typed(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """The other way round."""
    if pa.types.is_date32(kind):
        return pa.array(values, pa.int32()).cast(kind)
    return pa.array(values, pa.int64()).cast(kind) if pa.types.is_timestamp(kind) else pa.array(values, kind)


def keys_of(rows: pa.Table, names: Sequence[str]) -> list[Key]:
    """The key of each row, as decoding gives it."""
    return list(zip(*(plain(rows.column(name)).to_pylist() for name in names), strict=True))
