"""Runs in a task: reads some rows of a snapshot as Arrow and writes them straight into files of the target, which no version names yet."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from incremental_assets.adapters.budget import Budget
from incremental_assets.adapters.delta.staging.counting import Counting, StagedPart, count_rows, with_operation
from incremental_assets.adapters.delta.staging.staging_task import grouped
from incremental_assets.adapters.delta.tasks.files.data_file import shaped, write_groups
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
    groups, adds = _counted(unit, counted), list[Mapping[str, Any]]()
    while (add := write_groups(unit.table, unit.statistics, groups, _now(), unit.rows_per_file)) is not None:
        adds.append(add)
    return Loaded(tuple(adds), counted.rows, counted.future)


def _counted(unit: LoadUnit, counted: StagedPart) -> Iterator[pa.Table]:
    for rows in grouped(unit.part.batches()):
        count_rows(counted, with_operation(rows), unit.counting)
        group = [shaped(unit, rows)]
        del rows  # or it would be held while the next ones are read
        yield group.pop()


def _now() -> int:
    return time.time_ns() // 1_000_000
