"""Rows that Python holds, written to a file of Parquet for Spark: the columns by place, then the four flags."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from incremental_assets.adapters.databases.masked_rows import MaskedFile, Masking
from incremental_assets.adapters.spark.arrow_types import required_type
from incremental_assets.adapters.spark.own_names import LATE, RAW, REJECT_COLUMN, REJECT_REASON
from incremental_assets.core.model.table import TableSpec

_AT_ONCE = 10_000
"""Rows in memory, and in a group of the file."""


def arrow_schema(spec: TableSpec) -> pa.Schema:
    """The schema of the file: the columns by place, then the four flags."""
    columns = [(f"c{index}", required_type(column.spark_type)) for index, column in enumerate(spec.columns)]
    flags = [(name, pa.string()) for name in (REJECT_COLUMN, REJECT_REASON, RAW)]
    return pa.schema([*columns, *flags, (LATE, pa.bool_())])


def spool(path: Path, schema: pa.Schema, spec: TableSpec) -> pq.ParquetWriter | MaskedFile:
    """A file that is read once, and soon: what would make it smaller costs more than it saves. Masked columns are so on it, of `schema` before that."""
    encoding: dict[str, Any] = {"compression": "lz4", "use_dictionary": False, "write_statistics": False}
    masking = Masking.of(spec)
    return (
        pq.ParquetWriter(path, schema, **encoding) if masking is None else MaskedFile(path, schema, masking, **encoding)
    )


def write_rows(path: Path, spec: TableSpec, rows: Iterator[tuple[Any, ...]]) -> None:
    """All of them, as they come."""
    schema, batch = arrow_schema(spec), []
    with spool(path, schema, spec) as writer:
        for row in rows:
            batch.append(row)
            if len(batch) == _AT_ONCE:
                writer.write_batch(_batch(schema, batch))
                batch = []
        if batch:
            writer.write_batch(_batch(schema, batch))


def _batch(schema: pa.Schema, rows: Sequence[tuple[Any, ...]]) -> pa.RecordBatch:
    columns = zip(*rows, strict=True)
    return pa.record_batch(
        [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)], schema
    )
