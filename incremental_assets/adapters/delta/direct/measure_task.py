"""In a task: rows and hashes of some files of a table, in the words of `adapters/databases/measure.py`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from incremental_assets.adapters.databases.measure import NULL, SEPARATOR
from incremental_assets.adapters.delta.direct.key_set import Numbers
from incremental_assets.adapters.delta.direct.query import asked, numbered
from incremental_assets.adapters.delta.direct.skipping import Reach, file_may_hold
from incremental_assets.adapters.delta.direct.stored_rows import RowGroup, row_groups
from incremental_assets.adapters.delta.direct.unit import Stored

_OUTSIDE = -1
_LOWEST, _BEYOND = -(2**63), 2**63 - 1


@dataclass(frozen=True, slots=True)
class Ends:
    """One window of a cursor's values as whole numbers; an end that is open is None."""

    lower: int | None
    upper: int | None


@dataclass(frozen=True, slots=True)
class MeasureUnit:
    """Files of a table, as `add` actions, and what is measured of them.

    `cursor`: places of the cursor and its fallback; none where every row counts. `windows` come in order. `gone`: the column in which rows are
    marked as gone.
    """

    table: str
    files: tuple[Mapping[str, Any], ...]
    columns: tuple[Stored, ...]
    cursor: tuple[int, ...]
    windows: tuple[Ends, ...]
    gone: Stored | None

    @property
    def size(self) -> int:
        """For the order in which units begin."""
        return sum(int(each["size"]) for each in self.files)


def apply(unit: MeasureUnit) -> list[tuple[int, int]]:
    """Per window its rows, and the sum of their hashes."""
    found = [(0, 0)] * len(unit.windows)
    within = _within(unit)
    for add in unit.files:
        if not file_may_hold(add.get("stats"), within):
            continue
        with row_groups(unit.table, add, within) as groups:
            for group in groups:
                for place, rows, total in _measured(unit, group):
                    found[place] = (found[place][0] + rows, found[place][1] + total)
    return found


def _within(unit: MeasureUnit) -> tuple[Reach, ...]:
    first, last = unit.windows[0].lower, unit.windows[-1].upper
    if len(unit.cursor) != 1 or first is None:
        return ()
    column = unit.columns[unit.cursor[0]]
    return (Reach(column.name, column.type, first, None if last is None else last - 1),)


def _measured(unit: MeasureUnit, group: RowGroup) -> list[tuple[int, int, int]]:
    stays = group.alive
    if unit.gone is not None:
        (gone,) = group.columns([unit.gone])
        stays &= gone.is_null().to_numpy()
    columns = [_whole(values) for values in group.columns(unit.columns)]
    places = _places(unit, columns, group.rows)
    stays &= places != _OUTSIDE
    if not stays.any():
        return []
    rows = numbered(columns).append_column("place", pa.array(places)).filter(pa.array(stays))
    text = f"concat_ws('{SEPARATOR}', {', '.join(_canonical(place, each.type) for place, each in enumerate(unit.columns))})"
    found = asked(
        f"SELECT place, count(*) AS rows, CAST(sum(CAST(CAST('0x' || md5({text})[:15] AS BIGINT) AS HUGEINT)) AS VARCHAR) AS total FROM held GROUP BY 1",  # noqa: S608 - our own names
        held=rows,
    )
    return [
        (int(place), int(count), int(total))
        for place, count, total in zip(found["place"], found["rows"], found["total"], strict=True)
    ]


def _places(unit: MeasureUnit, columns: Sequence[pa.ChunkedArray], rows: int) -> Numbers:
    """Of each row the number of its window."""
    if not unit.cursor:
        return np.zeros(rows, dtype=np.int64)
    cursor = pc.coalesce(*(columns[place].cast(pa.int64()) for place in unit.cursor))
    values = pc.fill_null(cursor, 0).to_numpy()
    lower = np.array([_LOWEST if each.lower is None else each.lower for each in unit.windows])
    upper = np.array([_BEYOND if each.upper is None else each.upper for each in unit.windows])
    places = np.searchsorted(lower, values, side="right") - 1
    open_end = np.array([each.upper is None for each in unit.windows])
    inside = (places >= 0) & ((values < upper[places]) | open_end[places]) & cursor.is_valid().to_numpy()
    return np.where(inside, places, _OUTSIDE)


def _whole(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Days of a date and microseconds of a moment, of which the text is that of the number."""
    if pa.types.is_date32(values.type):
        return values.cast(pa.int32())
    return values.cast(pa.int64()) if pa.types.is_timestamp(values.type) else values


def _canonical(place: int, kind: str) -> str:
    name = f"k{place}"
    if kind == "string":
        text = f"length({name}) || ':' || {name}"
    elif kind == "binary":
        text = f"lower(hex({name}))"
    else:
        text = f"CAST({name} AS VARCHAR)"
    return f"coalesce({text}, '{NULL}')"
