"""In a task: the rows of some files, but for those that are gone, in one new file. A row group at a time, so that no task holds more."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from incremental_assets.adapters.delta.direct.data_file import schema_of, write_rows
from incremental_assets.adapters.delta.direct.stored_rows import row_groups
from incremental_assets.adapters.delta.direct.unit import Stored


@dataclass(frozen=True, slots=True)
class GatherUnit:
    """Files of a table, as `add` actions, whose rows become one file. `columns`: all of the table's; `statistics`: names in the files of those whose ends the log keeps."""

    table: str
    files: tuple[Mapping[str, Any], ...]
    columns: tuple[Stored, ...]
    statistics: tuple[str, ...]

    @property
    def size(self) -> int:
        """For the order in which units are begun."""
        return sum(int(each["size"]) for each in self.files)


def apply(unit: GatherUnit) -> Mapping[str, Any] | None:
    """The new file's `add` action, which changes no row of the table; None where all rows are gone. Raises NotDirect for what only Spark should read."""
    add = write_rows(unit.table, unit.statistics, _alive(unit), time.time_ns() // 1_000_000)
    return None if add is None else {**add, "dataChange": False}


def _alive(unit: GatherUnit) -> Iterator[pa.Table]:
    schema = schema_of(unit.columns)
    for add in unit.files:
        with row_groups(unit.table, add, ()) as groups:
            for group in groups:
                rows = pa.Table.from_arrays(group.columns(unit.columns), schema=schema)
                yield rows.filter(pa.array(group.alive)) if len(group.dead) else rows
