"""One data file, on disk before the log can name it."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.parquet as pq
import pyspark.version

from incremental_assets.adapters.delta.encoding import encoding
from incremental_assets.adapters.delta.log.readable import store_for
from incremental_assets.adapters.delta.tasks.files.file_statistics import Told
from incremental_assets.adapters.delta.tasks.files.staged_rows import staged_name
from incremental_assets.adapters.delta.tasks.files.unit import Marks, Stored
from incremental_assets.adapters.spark.arrow_types import required_type
from incremental_assets.adapters.spark.row_groups import row_groups

_ROWS_PER_GROUP = 256 * 1024
"""Small enough that a reader who looks for a few keys leaves most of a file out."""
_GROUP_BYTES = 16 * 2**20
"""The bytes of rows in memory that become one row group, as in a batch that is staged: a task holds one at a time."""
_OF_SPARK = {"org.apache.spark.version": pyspark.version.__version__}
"""The metadata by which Spark knows, whatever it is set to, that dates are those of today's calendar: without it, Spark 3 refuses old ones."""
_NUMBER = "PARQUET:field_id"


class Writes(Protocol):
    """A unit that writes files of a table."""

    @property
    def columns(self) -> tuple[Stored, ...]:
        """Those that differ from row to row, as the table's files have them."""

    @property
    def marks(self) -> Marks:
        """What every row of the commit carries."""


class Adds(Writes, Protocol):
    """One that adds a file by itself."""

    @property
    def table(self) -> str:
        """The path of the table."""

    @property
    def statistics(self) -> tuple[str, ...]:
        """Names in the files of the columns whose ends the log keeps."""


def write(unit: Adds, parts: Iterable[pa.Table], now: int) -> dict[str, Any] | None:
    """The `add` action of a new file with these rows, given by `shaped`; None where there are none. `now` in milliseconds since 1970."""
    return write_rows(unit.table, unit.statistics, parts, now)


def write_rows(table: str, told_of: tuple[str, ...], parts: Iterable[pa.Table], now: int) -> dict[str, Any] | None:
    """The same of rows that have the file's schema already. `told_of`: columns whose ends the log keeps."""
    return write_groups(table, told_of, row_groups(parts, _ROWS_PER_GROUP, _GROUP_BYTES), now)


def write_groups(
    table: str, told_of: tuple[str, ...], groups: Iterator[pa.Table], now: int, most: int | None = None
) -> dict[str, Any] | None:
    """The same of row groups as they are to lie in the file; no further one is begun once it holds `most` rows."""
    rows = next(groups, None)
    if rows is None:
        return None
    name, told, kept = file_name(), Told(told_of), rows.schema
    with store_for(table).new(f"{table}/{name}") as file:
        with pq.ParquetWriter(file, kept, **encoding(kept)) as writer:
            while rows is not None:
                writer.write_table(rows, row_group_size=max(1, rows.num_rows))
                told.add(rows)
                rows = None  # before the next ones are read
                rows = next(groups, None) if most is None or told.rows < most else None
        size = file.tell()
    return {
        "path": name,
        "partitionValues": {},
        "size": size,
        "modificationTime": now,
        "dataChange": True,
        "stats": told.text(),
    }


def file_name() -> str:
    """A name for a new data file."""
    return f"part-00000-{uuid.uuid4()}-c000.snappy.parquet"


def shaped(unit: Writes, rows: pa.Table, gone_at: int | None = None) -> pa.Table:
    """Rows of the batch under the names that the target's files have, with what every row of a commit carries."""
    marks, count = unit.marks, rows.num_rows
    columns = [rows[staged_name(place)] for place in range(len(unit.columns))]
    for value, each in zip((marks.run_id, marks.seq, marks.at, gone_at), marks.stored, strict=False):
        columns.append(pa.chunked_array([pa.repeat(pa.scalar(value, required_type(each.type)), count)]))
    return pa.Table.from_arrays(columns, schema=schema(unit))


def schema(unit: Writes) -> pa.Schema:
    """The schema of the files that are written."""
    return schema_of((*unit.columns, *unit.marks.stored))


def schema_of(columns: Iterable[Stored]) -> pa.Schema:
    """The schema of files with these columns."""
    return pa.schema([_field(each) for each in columns], metadata=_OF_SPARK)


def _field(column: Stored) -> pa.Field:
    numbered = {} if column.id is None else {_NUMBER: str(column.id)}
    return pa.field(column.name, required_type(column.type), metadata=numbered)
