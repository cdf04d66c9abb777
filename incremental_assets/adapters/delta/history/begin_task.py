"""Runs in a task: writes the rows of some files of a copy as the first versions of its history. A row group at a time, as nothing is compared."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from incremental_assets.adapters.delta.history.unit import Followed, HistoryUnit
from incremental_assets.adapters.delta.history.version_rows import named, schema, stamps, versions
from incremental_assets.adapters.delta.tasks.files.data_file import write_rows
from incremental_assets.adapters.delta.tasks.files.stored_rows import RowGroup, row_groups


@dataclass(slots=True)
class _Counted:
    """Versions that were written: of rows that are there, and of those that the copy marks as gone."""

    added: int = 0
    deleted: int = 0


def apply(unit: HistoryUnit) -> Followed:
    """What the commit says to the log: one file, or none where no row of these files is alive. Raises NotByTasks for what only Spark should read."""
    counted = _Counted()
    add = write_rows(unit.table, unit.statistics, _versions(unit, counted), time.time_ns() // 1_000_000)
    if add is None:
        return Followed()
    return Followed(({"add": add},), (add["path"],), counted.added, counted.deleted, bytes=add["size"])


def _versions(unit: HistoryUnit, counted: _Counted) -> Iterator[pa.Table]:
    for add in unit.batch.files:
        with row_groups(unit.batch.table, add, ()) as groups:
            for group in groups:
                for rows in _of_group(unit, group, counted):
                    yield rows.cast(schema(unit))


def _of_group(unit: HistoryUnit, group: RowGroup, counted: _Counted) -> Iterator[pa.Table]:
    marked, alive = unit.batch.gone, group.alive
    if marked is None:
        rows = named(group.columns(unit.batch.columns), unit).filter(pa.array(alive))
        counted.added += rows.num_rows
        yield versions(unit, rows, stamps(unit, rows), gone=False)
        return
    *values, gone_at = group.columns([*unit.batch.columns, marked])
    is_gone, both = gone_at.is_valid().to_numpy(), named(values, unit)
    there, gone = both.filter(pa.array(alive & ~is_gone)), both.filter(pa.array(alive & is_gone))
    counted.added += there.num_rows
    counted.deleted += gone.num_rows
    yield versions(unit, there, stamps(unit, there), gone=False)
    since = gone_at.filter(pa.array(alive & is_gone)).cast(pa.int64())
    yield versions(unit, gone, np.minimum(since.to_numpy(), unit.clock), gone=True)
