"""What the log says of a data file's rows, as Delta writes it: by it readers leave files out."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from incremental_assets.adapters.delta.log.column_mapping import STATISTICS, listed_columns

_TEXT_SIGNS = 32
"""How many characters of a text are kept."""
_LAST_SIGN = "\U0010ffff"
"""Nothing that follows in a text comes after it."""
_COUNT = "delta.dataSkippingNumIndexedCols"
_DEFAULT_COUNT = 32


def statistics_columns(properties: Mapping[str, str], columns: Sequence[str]) -> tuple[str, ...]:
    """Columns whose ends are kept: those that the table's properties name, else the first ones, as many as they say (-1: all)."""
    named, count = properties.get(STATISTICS), properties.get(_COUNT, "")
    if named is not None:
        return tuple(name for name in listed_columns(named) if name in columns)
    try:
        first = int(count)
    except ValueError:
        first = _DEFAULT_COUNT
    return tuple(columns if first < 0 else columns[:first])


@dataclass(slots=True)
class Told:
    """The statistics of a file that is written in pieces. A column of which JSON cannot hold one end has neither."""

    names: tuple[str, ...]
    rows: int = 0
    _nulls: dict[str, int] = field(default_factory=dict)
    _ends: dict[str, list[pa.Array]] = field(default_factory=dict)

    def add(self, rows: pa.Table) -> None:
        """One more piece."""
        self.rows += rows.num_rows
        for name in self.names:
            values = rows.column(name)
            self._nulls[name] = self._nulls.get(name, 0) + values.null_count
            self._ends.setdefault(name, []).append(_least_and_most(values))

    def text(self) -> str:
        """The statistics as the JSON text that the log has."""
        lows, highs = {}, {}
        for name, pieces in self._ends.items():
            ends = _ends(pa.chunked_array(pieces))
            if ends is not None:
                lows[name], highs[name] = ends
        parts = (
            f'"numRecords":{self.rows}',
            f'"minValues":{_object(lows)}',
            f'"maxValues":{_object(highs)}',
            f'"nullCount":{_object({name: str(count) for name, count in self._nulls.items()})}',
            '"tightBounds":true',
        )
        return "{" + ",".join(parts) + "}"


def _least_and_most(values: pa.ChunkedArray) -> pa.Array:
    """Two of the values, which have their ends, and a third one where a float is not finite."""
    kind = values.type
    if values.null_count == len(values) or pa.types.is_binary(kind) or pa.types.is_boolean(kind):
        return pa.nulls(1, kind)
    ends = pc.min_max(values)
    found = [ends["min"], ends["max"]]
    if pa.types.is_floating(kind) and not pc.all(pc.is_finite(values)).as_py():
        found.append(pa.scalar(math.nan, kind))
    return pa.array(found, kind)


def _object(members: dict[str, str]) -> str:
    # By hand, as a decimal is a number there with all its digits, which Python's own writer would make a float of.
    return "{" + ",".join(f"{json.dumps(name, ensure_ascii=False)}:{text}" for name, text in members.items()) + "}"


def _ends(values: pa.ChunkedArray) -> tuple[str, str] | None:
    kind = values.type
    if values.null_count == len(values) or pa.types.is_binary(kind) or pa.types.is_boolean(kind):
        return None
    try:
        if pa.types.is_timestamp(kind):
            return _moments(values)
        if pa.types.is_floating(kind):
            return _floats(values)
        ends = pc.min_max(values).as_py()
        low, high = ends["min"], ends["max"]
    except (OverflowError, ValueError):
        # A day or a moment that Python has no word for.
        return None
    if isinstance(low, str):
        return _json(low[:_TEXT_SIGNS]), _json(high if len(high) <= _TEXT_SIGNS else high[:_TEXT_SIGNS] + _LAST_SIGN)
    return _json(low), _json(high)


def _floats(values: pa.ChunkedArray) -> tuple[str, str] | None:
    """The ends of floats; None where a value is not finite: JSON has no word for it, and NaN lies above all others for Spark and nowhere for Arrow."""
    if not pc.all(pc.is_finite(values)).as_py():
        return None
    ends = pc.min_max(values).as_py()
    # Of zeros, for one reader the negative one is less, for another they are the same.
    low, high = (end or math.copysign(0.0, sign) for end, sign in ((ends["min"], -1), (ends["max"], 1)))
    return _json(low), _json(high)


def _moments(values: pa.ChunkedArray) -> tuple[str, str]:
    """The ends in whole milliseconds, which is all that the log keeps: the lowest rounded down, the highest up. Raises OverflowError outside of Python's years."""
    ends = pc.min_max(values.cast(pa.int64())).as_py()
    suffix = "" if values.type.tz is None else "Z"
    first = _moment(ends["min"] // 1000)
    last = _moment(-(-ends["max"] // 1000))
    return f'"{first}{suffix}"', f'"{last}{suffix}"'


def _moment(milliseconds: int) -> str:
    found = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=milliseconds)
    return found.replace(tzinfo=None).isoformat(timespec="milliseconds")


def _json(value: Any) -> str:
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, date):
        return f'"{value.isoformat()}"'
    return json.dumps(value, ensure_ascii=False)
