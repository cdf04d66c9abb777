"""Runs in a task: counts and hashes the rows of some files of a table, in the format of `adapters/databases/measure.py`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from incremental_assets.adapters.databases import byte_hash
from incremental_assets.adapters.databases.measure import NULL, SEPARATOR
from incremental_assets.adapters.delta.tasks.files.skipping import Reach, file_may_hold
from incremental_assets.adapters.delta.tasks.files.stored_rows import RowGroup, row_groups
from incremental_assets.adapters.delta.tasks.files.unit import Stored
from incremental_assets.adapters.delta.tasks.files.whole_numbers import Numbers
from incremental_assets.adapters.delta.tasks.query import asked, numbered
from incremental_assets.core.model.measure import RowHash

OUTSIDE = -1
"""The number of the window of a row that lies in none."""
_HALF = 30
"""Bits of a hash that are summed at once."""
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
    by: RowHash = RowHash.TEXT

    @property
    def size(self) -> int:
        """The bytes of its files, by which units are spread over tasks."""
        return sum(int(each["size"]) for each in self.files)


def apply(unit: MeasureUnit) -> list[tuple[int, int]]:
    """The number of rows of each window and the sum of their hashes, in the order of the windows."""
    found = [(0, 0)] * len(unit.windows)
    within = reaches_of(unit)
    for add in unit.files:
        if not file_may_hold(add.get("stats"), within):
            continue
        with row_groups(unit.table, add, within, encoded=unit.by is RowHash.BYTES) as groups:
            for group in groups:
                for place, rows, total in _measured(unit, group):
                    found[place] = (found[place][0] + rows, found[place][1] + total)
    return found


def reaches_of(unit: MeasureUnit) -> tuple[Reach, ...]:
    """Outside of which no file has a row of its windows."""
    first, last = unit.windows[0].lower, unit.windows[-1].upper
    if len(unit.cursor) != 1 or first is None:
        return ()
    column = unit.columns[unit.cursor[0]]
    return (Reach(column.name, column.type, first, None if last is None else last - 1),)


def _measured(unit: MeasureUnit, group: RowGroup) -> list[tuple[int, int, int]]:
    stays = standing(unit, group)
    held = group.columns(unit.columns)
    places = windows_of(unit, [whole(held[place]) for place in unit.cursor], group.rows)
    stays &= places != OUTSIDE
    if not stays.any():
        return []
    if unit.by is RowHash.BYTES:
        if not stays.all():
            held, places = [values.filter(pa.array(stays)) for values in held], places[stays]
        return list(summed(places, byte_hash.row_hashes(held)))
    columns = [whole(values) for values in held]
    rows = numbered(columns).append_column("place", pa.array(places)).filter(pa.array(stays))
    found = asked(
        f"SELECT place, count(*) AS rows, CAST(sum(CAST({row_hash(unit, range(len(columns)))} AS HUGEINT)) AS VARCHAR) AS total FROM held GROUP BY 1",  # noqa: S608 - our own names
        held=rows,
    )
    return [
        (int(place), int(count), int(total))
        for place, count, total in zip(found["place"], found["rows"], found["total"], strict=True)
    ]


def summed(parts: Numbers, hashes: Numbers) -> Iterator[tuple[int, int, int]]:
    """Number, rows and sum of hashes of each part. The sum may need more than 64 bits, so the high and the low bits are summed apart."""
    found, where, counts = np.unique(parts, return_inverse=True, return_counts=True)
    high, low = np.zeros_like(counts), np.zeros_like(counts)
    np.add.at(high, where, hashes >> _HALF)
    np.add.at(low, where, hashes & ((1 << _HALF) - 1))
    for part, count, above, below in zip(found, counts, high, low, strict=True):
        yield int(part), int(count), (int(above) << _HALF) + int(below)


def standing(unit: MeasureUnit, group: RowGroup) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Rows that are there, and not marked as gone."""
    if unit.gone is None:
        return group.alive
    (gone,) = group.columns([unit.gone])
    return group.alive & gone.is_null().to_numpy()


def row_hash(unit: MeasureUnit, places: Iterable[int]) -> str:
    """SQL for the hash of some columns of a row, under the names of `numbered`: a whole number of 60 bits."""
    return f"CAST('0x' || md5({row_text(unit, places)})[:15] AS BIGINT)"


def row_text(unit: MeasureUnit, places: Iterable[int]) -> str:
    """SQL for the canonical text of some columns of a row, under the names of `numbered`."""
    texts = ", ".join(_canonical(place, unit.columns[place].type) for place in places)
    return f"concat_ws('{SEPARATOR}', {texts})"


def windows_of(unit: MeasureUnit, cursors: Sequence[pa.ChunkedArray], rows: int) -> Numbers:
    """The number of the window in which each row's cursor, or its fallback, lies; OUTSIDE for none, and 0 for every row where no cursor counts."""
    if not cursors:
        return np.zeros(rows, dtype=np.int64)
    cursor = pc.coalesce(*(values.cast(pa.int64()) for values in cursors))
    values = pc.fill_null(cursor, 0).to_numpy()
    lower = np.array([_LOWEST if each.lower is None else each.lower for each in unit.windows])
    upper = np.array([_BEYOND if each.upper is None else each.upper for each in unit.windows])
    places = np.searchsorted(lower, values, side="right") - 1
    open_end = np.array([each.upper is None for each in unit.windows])
    inside = (places >= 0) & ((values < upper[places]) | open_end[places]) & cursor.is_valid().to_numpy()
    return np.where(inside, places, OUTSIDE)


def whole(values: pa.ChunkedArray) -> pa.ChunkedArray:
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
        if kind.startswith("decimal"):
            # DuckDB leaves out the zero before the point where the type has room for none.
            text = f"regexp_replace({text}, '^(-?)[.]', '\\10.')"
    return f"coalesce({text}, '{NULL}')"
