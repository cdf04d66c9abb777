"""One data file, on disk before the log can name it."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pyspark.version

from incremental_assets.adapters.delta.direct.file_statistics import statistics
from incremental_assets.adapters.delta.direct.new_file import new_file
from incremental_assets.adapters.delta.direct.staged_rows import staged_name
from incremental_assets.adapters.delta.direct.unit import ApplyUnit, Stored
from incremental_assets.adapters.spark.arrow_types import required_type

_ROWS_PER_GROUP = 256 * 1024
"""Small enough that a reader who looks for a few keys leaves most of a file out."""
_OF_SPARK = {"org.apache.spark.version": pyspark.version.__version__}
"""By which Spark knows, whatever it is set to, that dates are those of today's calendar: without it, Spark 3 refuses old ones."""
_NUMBER = "PARQUET:field_id"


def write(unit: ApplyUnit, rows: pa.Table, now: int) -> dict[str, Any] | None:
    """The `add` action of a new file with these rows; None where there are none. `now` in milliseconds since 1970."""
    if not rows.num_rows:
        return None
    shaped = _shaped(unit, rows)
    name = f"part-00000-{uuid.uuid4()}-c000.snappy.parquet"
    path = Path(unit.table) / name
    with new_file(path) as file:
        # As Spark writes decimals: of one that fits, as a whole number, whose ends are told of each row group.
        pq.write_table(shaped, file, row_group_size=_ROWS_PER_GROUP, store_decimal_as_integer=True)
    return {
        "path": name,
        "partitionValues": {},
        "size": path.stat().st_size,
        "modificationTime": now,
        "dataChange": True,
        "stats": statistics(shaped, unit.statistics),
    }


def _shaped(unit: ApplyUnit, rows: pa.Table) -> pa.Table:
    """Under the names that the target's files have, with what every row of a commit carries."""
    marks, count = unit.marks, rows.num_rows
    columns = [rows[staged_name(place)] for place in range(len(unit.columns))]
    for value, each in zip((marks.run_id, marks.seq, marks.at), marks.columns, strict=True):
        columns.append(pa.chunked_array([pa.repeat(pa.scalar(value, required_type(each.type)), count)]))
    fields = [_field(each) for each in (*unit.columns, *marks.columns)]
    return pa.Table.from_arrays(columns, schema=pa.schema(fields, metadata=_OF_SPARK))


def _field(column: Stored) -> pa.Field:
    numbered = {} if column.id is None else {_NUMBER: str(column.id)}
    return pa.field(column.name, required_type(column.type), metadata=numbered)
