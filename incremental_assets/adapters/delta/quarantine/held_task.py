"""Runs in a task: reads what rows that are held now have in some columns."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from incremental_assets.adapters.delta.quarantine.open_rows import open_rows
from incremental_assets.adapters.delta.quarantine.unit import HeldUnit
from incremental_assets.adapters.delta.tasks.files.skipping import has_nulls
from incremental_assets.adapters.delta.tasks.files.stored_rows import bounded, row_groups


def apply(unit: HeldUnit) -> pa.Table:
    """Each once, under the places of the columns. Raises NotByTasks for what only Spark should read."""
    names = [str(place) for place in range(len(unit.columns))]
    nothing = pa.schema([(name, pa.string()) for name in names]).empty_table()
    return pa.concat_tables([nothing, *bounded(_read(unit, names))]).group_by(names).aggregate([])


def _read(unit: HeldUnit, names: list[str]) -> Iterator[pa.Table]:
    for add in unit.files:
        if not has_nulls(add.get("stats"), unit.resolved_at.name):
            continue
        with row_groups(unit.table, add, ()) as groups:
            for group in groups:
                rows = open_rows(group, unit.held, unit.resolved_at)
                if len(rows):
                    yield pa.Table.from_arrays([each.take(rows) for each in group.columns(unit.columns)], names=names)
