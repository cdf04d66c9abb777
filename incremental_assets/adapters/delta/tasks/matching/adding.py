"""An append: rows of the batch that the target does not hold yet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from incremental_assets.adapters.delta.tasks.files.staged_rows import Flags, StagedRows
from incremental_assets.adapters.delta.tasks.files.stored_rows import bounded, row_groups
from incremental_assets.adapters.delta.tasks.files.unit import Adding, ApplyUnit
from incremental_assets.adapters.delta.tasks.query import asked, numbered
from incremental_assets.adapters.spark.arrow_types import FLOATING, required_type


def new(unit: ApplyUnit, how: Adding, batch: StagedRows) -> Flags | None:
    """Whether each row of the batch is added; None for all. Compared with the newest version of its key; without a `version_key` with as many equal rows as there are. Raises NotByTasks."""
    if not how.compares:
        return None
    held = pa.concat_tables([*bounded(_held(unit)), _nothing(unit)])
    ours = numbered([batch.column(place) for place in range(len(unit.columns))])
    found = asked(_newest_only(unit, how) if how.version_key else _counted(unit), held=held, ours=ours)
    chosen = np.zeros(ours.num_rows, dtype=bool)
    chosen[found["n"]] = True
    return chosen


def _newest_only(unit: ApplyUnit, how: Adding) -> str:
    newest = f"SELECT * FROM held QUALIFY row_number() OVER (PARTITION BY {_values(unit, how.version_key)} ORDER BY seq DESC) = 1"  # noqa: S608 - our own names
    return f"SELECT a.n FROM ours AS a ANTI JOIN ({newest}) AS b ON {_same(unit)}"  # noqa: S608


def _counted(unit: ApplyUnit) -> str:
    copies = f"SELECT *, row_number() OVER (PARTITION BY {_values(unit, range(len(unit.columns)))}) AS copy FROM"
    return f"SELECT a.n FROM ({copies} ours) AS a ANTI JOIN ({copies} held) AS b ON {_same(unit)} AND a.copy = b.copy"  # noqa: S608


def _same(unit: ApplyUnit) -> str:
    places = range(len(unit.columns))
    return " AND ".join(
        f"{_value(unit, place, 'a.')} IS NOT DISTINCT FROM {_value(unit, place, 'b.')}" for place in places
    )


def _values(unit: ApplyUnit, places: Sequence[int]) -> str:
    return ", ".join(_value(unit, place) for place in places)


def _value(unit: ApplyUnit, place: int, side: str = "") -> str:
    """Floats as their texts, as -0.0 and 0.0 are two values for a source."""
    name = f"{side}k{place}"
    return f"CAST({name} AS VARCHAR)" if unit.columns[place].type in FLOATING else name


def _held(unit: ApplyUnit) -> Iterator[pa.Table]:
    """The target's live rows that may be equal to one of the batch, with the sequence that brought them."""
    _, sequence, _ = unit.marks.columns
    for add in unit.files:
        with row_groups(unit.table, add, unit.within) as groups:
            for group in groups:
                *columns, brought = group.columns([*unit.columns, sequence])
                rows = numbered(columns).append_column("seq", brought)
                yield rows.filter(pa.array(group.alive)) if len(group.dead) else rows


def _nothing(unit: ApplyUnit) -> pa.Table:
    fields = [(f"k{place}", required_type(each.type)) for place, each in enumerate(unit.columns)]
    return pa.schema([*fields, ("n", pa.int64()), ("seq", pa.int64())]).empty_table()
