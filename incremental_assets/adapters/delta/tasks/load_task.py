"""Runs in a task: reads some rows of a snapshot as Arrow and writes them straight into files of the target, which no version names yet."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from incremental_assets.adapters.budget import Budget
from incremental_assets.adapters.delta.encoding import encoding
from incremental_assets.adapters.delta.log.not_by_tasks import store_for
from incremental_assets.adapters.delta.staging.counting import Counting, StagedPart, count_rows, with_operation
from incremental_assets.adapters.delta.staging.staging_task import grouped
from incremental_assets.adapters.delta.tasks.files.data_file import file_name, schema, shaped
from incremental_assets.adapters.delta.tasks.files.file_statistics import Told
from incremental_assets.adapters.delta.tasks.files.unit import Marks, Stored
from incremental_assets.adapters.spark.read_part import ReadPart


@dataclass(frozen=True, slots=True)
class LoadUnit:
    """One part of a read, and the table that its rows are written to. `rows_per_file`: at the most, as far as row groups go."""

    part: ReadPart
    table: str
    columns: tuple[Stored, ...]
    marks: Marks
    statistics: tuple[str, ...]
    counting: Counting
    rows_per_file: int

    @property
    def size(self) -> int:
        """The bytes that its part is expected to have, by which units are spread over tasks."""
        return self.part.size

    @property
    def budget(self) -> Budget | None:
        """That of the source which its part asks."""
        return self.part.budget


@dataclass(frozen=True, slots=True)
class Loaded:
    """The `add` actions of one part, its rows, and those past the source's clock."""

    adds: tuple[Mapping[str, Any], ...]
    rows: int
    future: int


def apply(unit: LoadUnit) -> Loaded:
    """Write the part's rows."""
    counted = StagedPart(ends=(None,) * len(unit.counting.ends))
    groups, adds = _counted(unit, counted), []
    while (add := _file(unit, groups)) is not None:
        adds.append(add)
    return Loaded(tuple(adds), counted.rows, counted.future)


def _counted(unit: LoadUnit, counted: StagedPart) -> Iterator[pa.Table]:
    for rows in grouped(unit.part.batches()):
        count_rows(counted, with_operation(rows), unit.counting)
        group = [shaped(unit, rows)]
        del rows  # or it would be held while the next ones are read
        yield group.pop()


def _file(unit: LoadUnit, groups: Iterator[pa.Table]) -> dict[str, Any] | None:
    """One file of the target: of as many of the groups as it may hold; None where there are none."""
    group = next(groups, None)
    if group is None:
        return None
    name, told = file_name(), Told(unit.statistics)
    with store_for(unit.table).new(f"{unit.table}/{name}") as file:
        with pq.ParquetWriter(file, schema(unit), **encoding(schema(unit))) as writer:
            while group is not None:
                writer.write_table(group, row_group_size=max(1, group.num_rows))
                told.add(group)
                group = None  # before the next one is read
                group = next(groups, None) if told.rows < unit.rows_per_file else None
        size = file.tell()
    return {
        "path": name,
        "partitionValues": {},
        "size": size,
        "modificationTime": time.time_ns() // 1_000_000,
        "dataChange": True,
        "stats": told.text(),
    }
