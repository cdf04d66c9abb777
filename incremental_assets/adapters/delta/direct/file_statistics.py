"""What the log says of a data file's rows, as Delta writes it: by it readers leave files out."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

_TEXT_SIGNS = 32
"""Of a text, as many are kept."""
_LAST_YEAR = 9999
_NAME = re.compile(r"`((?:[^`]|``)*)`|([^,`]+)")
_DEFAULT_COLUMNS = 32


def statistics_columns(named: str | None, columns: Iterable[str]) -> tuple[str, ...]:
    """Columns whose ends are kept: those that the table's property names, else the first ones."""
    if named is None:
        return tuple(columns)[:_DEFAULT_COLUMNS]
    return tuple((quoted.replace("``", "`") if quoted else bare.strip()) for quoted, bare in _NAME.findall(named))


def statistics(rows: pa.Table, names: Iterable[str]) -> str:
    """The JSON text of a file that holds these rows. A column with an end that JSON cannot hold is told without both."""
    there = set(rows.column_names)
    lows, highs, nulls = {}, {}, {}
    for name in names:
        if name not in there:
            continue
        values = rows.column(name)
        nulls[name] = str(values.null_count)
        ends = _ends(values)
        if ends is not None:
            lows[name], highs[name] = ends
    parts = (
        f'"numRecords":{rows.num_rows}',
        f'"minValues":{_object(lows)}',
        f'"maxValues":{_object(highs)}',
        f'"nullCount":{_object(nulls)}',
        '"tightBounds":true',
    )
    return "{" + ",".join(parts) + "}"


def _object(members: dict[str, str]) -> str:
    # By hand, as a decimal is a number there with all its digits, which Python's own writer would make a float of.
    return "{" + ",".join(f"{json.dumps(name, ensure_ascii=False)}:{text}" for name, text in members.items()) + "}"


def _ends(values: pa.ChunkedArray) -> tuple[str, str] | None:
    kind = values.type
    if values.null_count == len(values) or pa.types.is_binary(kind) or pa.types.is_boolean(kind):
        return None
    if pa.types.is_floating(kind) and pc.any(pc.is_nan(values)).as_py():
        return None
    if pa.types.is_timestamp(kind):
        return _moments(values)
    ends = pc.min_max(values).as_py()
    low, high = ends["min"], ends["max"]
    if isinstance(low, str):
        return None if len(high) > _TEXT_SIGNS else (_json(low[:_TEXT_SIGNS]), _json(high))
    return _json(low), _json(high)


def _moments(values: pa.ChunkedArray) -> tuple[str, str] | None:
    """In milliseconds, which is all that the log keeps of them: the first cut down, the last one up."""
    ends = pc.min_max(values.cast(pa.int64())).as_py()
    suffix = "" if values.type.tz is None else "Z"
    try:
        first = _moment(ends["min"] // 1000)
        last = _moment(-(-ends["max"] // 1000))
    except OverflowError:
        return None
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
