"""Rows of Parquet, whose files say what columns they have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from incremental_assets.adapters.files.raw import Rows
from incremental_assets.adapters.files.typed_values import numbered_rows, sound

_ROWS = 64 * 1024


def schema_of(opened: Any) -> pa.Schema:
    """What a file says of its columns. Raises Broken."""
    return _file(opened).schema_arrow


def rows_of_parquet(opened: Any, types: Mapping[str, str]) -> Iterator[Rows]:
    """The columns of these names and types. Raises Broken."""
    file = _file(opened)
    wanted = [name for name in file.schema_arrow.names if name in types]
    with sound():
        # A column of its own for each: a name of a nested field would ask for its parts.
        batches = file.iter_batches(_ROWS, columns=wanted or None, use_threads=False)
        yield from numbered_rows((batch.select(wanted) for batch in batches), types)


def _file(opened: Any) -> pq.ParquetFile:
    with sound():
        return pq.ParquetFile(opened, coerce_int96_timestamp_unit="us")
