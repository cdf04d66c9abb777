"""Values of a copy as those of decoded records, in which days and moments are numbers."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from incremental_assets.adapters.spark.arrow_types import comparable
from incremental_assets.adapters.topics.changes import Key


def keys_of(rows: pa.Table, names: Sequence[str]) -> list[Key]:
    """The key of each row, as decoding gives it."""
    return list(zip(*(comparable(rows.column(name)).to_pylist() for name in names), strict=True))
