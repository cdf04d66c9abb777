"""Runs in a task: writes a file anew without the rows that are gone, of which its table is not to say so by a vector. One row group is held at a time."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from incremental_assets.adapters.delta.tasks.files.data_file import schema_of, write_rows
from incremental_assets.adapters.delta.tasks.files.row_numbers import numbers_of
from incremental_assets.adapters.delta.tasks.files.stored_rows import row_groups
from incremental_assets.adapters.delta.tasks.files.unit import CopyUnit


def apply(unit: CopyUnit) -> Mapping[str, Any] | None:
    """The new file's `add` action; None where no row is left. Raises NotByTasks for what only Spark should read."""
    return write_rows(unit.table, unit.statistics, _left(unit), time.time_ns() // 1_000_000)


def _left(unit: CopyUnit) -> Iterator[pa.Table]:
    schema, gone = schema_of(unit.columns), numbers_of(unit.gone)
    with row_groups(unit.table, unit.file, ()) as groups:
        for group in groups:
            rows = pa.Table.from_arrays(group.columns(unit.columns), schema=schema)
            yield rows.filter(pa.array(group.alive_but(gone)))
