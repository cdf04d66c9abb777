"""Rows of Parquet, whose files say what columns they have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from incremental_assets.adapters.files.fitting import fitted_rows
from incremental_assets.adapters.files.raw import Rows
from incremental_assets.adapters.files.refusals import Broken
from incremental_assets.adapters.files.typed_values import of_typed

_ROWS = 64 * 1024


def schema_of(opened: Any) -> pa.Schema:
    """What a file says of its columns. Raises Broken."""
    return _file(opened).schema_arrow


def rows_of_parquet(opened: Any, types: Mapping[str, str]) -> Iterator[Rows]:
    """The columns of these names and types. Raises Broken."""
    file = _file(opened)
    wanted = [name for name in file.schema_arrow.names if name in types]
    first = 1
    try:
        # A column of its own for each: a name of a nested field would ask for its parts.
        for batch in file.iter_batches(_ROWS, columns=wanted or None, use_threads=False):
            numbers, first = range(first, first + batch.num_rows), first + batch.num_rows
            yield fitted_rows(batch.select(wanted), numbers, types, of_typed)
    except (pa.ArrowException, OSError) as error:
        raise Broken(str(error).partition("\n")[0]) from None


def _file(opened: Any) -> pq.ParquetFile:
    try:
        return pq.ParquetFile(opened, coerce_int96_timestamp_unit="us")
    except (pa.ArrowException, OSError) as error:
        raise Broken(str(error).partition("\n")[0]) from None
