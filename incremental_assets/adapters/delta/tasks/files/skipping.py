"""What of a table cannot hold a row that is looked for: files by what the log says of them, row groups by what the file says. Pure.

Everything is compared as whole numbers, as Parquet stores them: days of a date, microseconds of a timestamp.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

from incremental_assets.adapters.delta.tasks.files.whole_numbers import Numbers
from incremental_assets.core.model.column import WHOLE

MOMENTS = ("timestamp", "timestamp_ntz")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_BELOW_A_MILLISECOND = 999
_PHYSICAL = ("INT32", "INT64")


@dataclass(frozen=True, slots=True)
class Reach:
    """Rows whose column lies between two ends, both included; without a highest one those from the lowest on, and those where it is NULL."""

    column: str
    type: str
    lowest: int
    highest: int | None = None

    def meets(self, low: int | None, high: int | None, nulls: int | None) -> bool:
        """Whether one of the values between two ends may be such a row's. What is not known is None."""
        if low is None or high is None or (self.highest is None and nulls != 0):
            return True
        return high >= self.lowest and (self.highest is None or low <= self.highest)


@dataclass(frozen=True, slots=True)
class Among:
    """Rows whose column has one of these values, which ascend."""

    column: str
    type: str
    values: Numbers

    def meets(self, low: int | None, high: int | None, _nulls: int | None) -> bool:
        """Whether one of the values lies between the two ends. What is not known is None, and then it may."""
        if low is None or high is None:
            return True
        # As Python's numbers, as what a file says may be too great for the values' type.
        place = bisect_left(self.values, low)
        return place < len(self.values) and int(self.values[place]) <= high


def ordinal(moment: date | datetime) -> int:
    """A date's number of days, or a moment's number of microseconds, since 1970; a moment without a zone counts as one in UTC."""
    if not isinstance(moment, datetime):
        return moment.toordinal() - _EPOCH.toordinal()
    return ((moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - _EPOCH) // _MICROSECOND


def file_may_hold(stats: str | None, within: Sequence[Reach | Among]) -> bool:
    """Whether a file with these statistics of the log may have a row within all of the reaches."""
    if not within or not stats:
        return True
    told = json.loads(stats, parse_float=Decimal)
    lows, highs, nulls = (told.get(name) or {} for name in ("minValues", "maxValues", "nullCount"))
    return all(
        each.meets(
            whole_end(lows.get(each.column), each.type),
            whole_end(highs.get(each.column), each.type, beyond=_BELOW_A_MILLISECOND),
            nulls.get(each.column),
        )
        for each in within
    )


def file_may_hold_texts(stats: str | None, sought: Mapping[str, Sequence[str] | None]) -> bool:
    """The same for a row with one of these texts, which are in order, in each of some columns; None: any.

    Of a long text the log keeps the beginning, below it and above it.
    """
    told = json.loads(stats) if stats else {}
    lows, highs = (told.get(name) or {} for name in ("minValues", "maxValues"))
    return all(_may_be_among(lows.get(column), highs.get(column), texts) for column, texts in sought.items())


def _may_be_among(low: Any, high: Any, texts: Sequence[str] | None) -> bool:
    if texts is None or not isinstance(low, str) or not isinstance(high, str):
        return True
    place = bisect_left(texts, low)
    return place < len(texts) and texts[place] <= high


def has_nulls(stats: str | None, column: str) -> bool:
    """Whether a file may have a row without a value in a column."""
    told = json.loads(stats) if stats else {}
    return bool((told.get("nullCount") or {}).get(column) != 0)


def places(file: Any) -> dict[str, int]:
    """The place of each column of a Parquet file by its path, the same in all row groups."""
    return {file.schema.column(place).path: place for place in range(len(file.schema))}


def group_may_hold(file: Any, columns: Mapping[str, int], group: int, within: Sequence[Reach | Among]) -> bool:
    """Whether a row group of a Parquet file, which has its columns there, may have a row within all of the reaches."""
    if not within:
        return True
    told = file.metadata.row_group(group)
    return all(each.meets(*_ends(file, told, columns.get(each.column), each.type)) for each in within)


def _ends(file: Any, group: Any, place: int | None, kind: str) -> tuple[int | None, int | None, int | None]:
    unknown = (None, None, None)
    if place is None:
        return unknown
    column, found = file.schema.column(place), group.column(place).statistics
    if found is None or not found.has_min_max or column.physical_type not in _PHYSICAL:
        return unknown
    if kind in MOMENTS and "timeUnit=microseconds" not in str(column.logical_type):
        return unknown
    return int(found.min_raw), int(found.max_raw), int(found.null_count) if found.has_null_count else None


def whole_end(told: Any, kind: str, *, beyond: int = 0) -> int | None:
    """An end as the log writes it; `beyond`: what a writer may have cut off a moment. None where it is no such value."""
    try:
        if kind in WHOLE:
            return int(told) if isinstance(told, int | Decimal) else None
        if kind == "date":
            return ordinal(date.fromisoformat(told))
        moment = datetime.fromisoformat(told)
        return None if (moment.tzinfo is None) is (kind == "timestamp") else ordinal(moment) + beyond
    except (TypeError, ValueError, OverflowError):
        return None
