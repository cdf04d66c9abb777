"""Runs in a task: writes the rows of some files, without deleted ones, to one new file. It holds one sorted run of them in memory at a time, or one row group."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa

from incremental_assets.adapters.delta.tasks.compaction.gather_unit import GatherUnit
from incremental_assets.adapters.delta.tasks.files.data_file import schema_of, write_rows
from incremental_assets.adapters.delta.tasks.files.stored_rows import row_groups

_RUN_BYTES = 64 * 2**20
"""The bytes of rows in memory that are sorted together, and of their copy in that order."""


def apply(unit: GatherUnit) -> Mapping[str, Any] | None:
    """The new file's `add` action, which changes no row of the table; None where all rows are gone. Raises NotByTasks for what only Spark should read."""
    rows = _sorted(_alive(unit), unit.order) if unit.order else _alive(unit)
    add = write_rows(unit.table, unit.statistics, rows, time.time_ns() // 1_000_000)
    return None if add is None else {**add, "dataChange": False}


def _sorted(parts: Iterable[pa.Table], order: tuple[str, ...]) -> Iterator[pa.Table]:
    """Runs of rows, each sorted, so that a row group has a narrow range of keys and is passed over by who looks for others."""
    held: list[pa.Table] = []
    for part in parts:
        if held and sum(each.nbytes for each in held) + part.nbytes > _RUN_BYTES:
            yield _run(held, order)
            held = []
        held.append(part)
    if held:
        yield _run(held, order)


def _run(parts: list[pa.Table], order: tuple[str, ...]) -> pa.Table:
    return pa.concat_tables(parts).sort_by([(name, "ascending") for name in order])


def _alive(unit: GatherUnit) -> Iterator[pa.Table]:
    schema = schema_of(unit.columns)
    for add in unit.files:
        with row_groups(unit.table, add, ()) as groups:
            for group in groups:
                rows = pa.Table.from_arrays(group.columns(unit.columns), schema=schema)
                yield rows.filter(pa.array(group.alive)) if len(group.dead) else rows
