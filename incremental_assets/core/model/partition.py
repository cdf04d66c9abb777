"""Partition keys and the windows they stand for.

Time keys are spelled as Dagster spells them by default: `%Y-%m-%d-%H:%M` for hours, the first day `%Y-%m-%d` for days, weeks and
months, in UTC; a week begins on Sunday (`day_offset=0`). A `date` or `datetime` cursor has no zone, so its windows carry the same
readings without one. Those of integers are in `number_keys`. A table read whole has the one key `current`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum

from incremental_assets.core.errors import TooManyPartitions
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.number_keys import MOST_KEYS, IntegerGrid, among, ends, integer_keys, place
from incremental_assets.core.model.window import Window

CURRENT = "current"
"""The single key of a `full_refresh` table."""

WEEK_BEGINS_ON = "Sunday"
"""The first day of a week, as Dagster's weeks have it by default; a `from` in the middle of a week means the Sunday before it."""


class Every(StrEnum):
    """The length of one time partition."""

    HOUR = "hour"
    DAY = "day"
    WEEK = "week"
    MONTH = "month"


_STEPS = {Every.HOUR: timedelta(hours=1), Every.DAY: timedelta(days=1), Every.WEEK: timedelta(weeks=1)}


@dataclass(frozen=True, slots=True)
class TimeGrid:
    """Hours, days, weeks or months in UTC from `start`, which is the first day of one of them."""

    every: Every
    start: date

    def __post_init__(self) -> None:
        if self.start != _first_day(self.every, self.start):
            raise ValueError(f"{self.start} is not the first day of a {self.every}")

    @classmethod
    def containing(cls, every: Every, day: date) -> TimeGrid:
        """The grid whose first partition contains `day`."""
        return cls(every, _first_day(every, day))


Grid = TimeGrid | IntegerGrid


def has_weeks(grid: Grid | None) -> bool:
    """Whether one must say on which day a partition begins, which the other lengths say themselves."""
    return isinstance(grid, TimeGrid) and grid.every is Every.WEEK


def count(grid: TimeGrid, until: datetime) -> int:
    """How many keys the grid has when `until` (UTC) lies in its last one; 0 before its start."""
    return max(0, _index(grid, _naive(until)) + 1)


def keys(grid: TimeGrid, until: datetime) -> tuple[str, ...]:
    """Every key up to the one that is open at `until` (UTC), ascending."""
    return _time_keys(grid, 0, _index(grid, _naive(until)))


def parts(grid: Grid, keys: Sequence[str], most: int) -> tuple[tuple[str, ...], ...]:
    """Ascending keys as contiguous runs of at most `most` keys."""
    found: list[list[str]] = []
    last = None
    for key in keys:
        place = _place(grid, key)
        if found and last is not None and place == last + 1 and len(found[-1]) < most:
            found[-1].append(key)
        else:
            found.append([key])
        last = place
    return tuple(tuple(part) for part in found)


def window_of(grid: Grid, key: str, cursor: CursorType) -> Window:
    """The window that a key stands for, in values of `cursor`; ValueError if the grid has no such key."""
    if isinstance(grid, IntegerGrid):
        return Window(*(None if end is None else CursorValue.of(cursor, end) for end in ends(grid, key)))
    if cursor is CursorType.DATE and grid.every is Every.HOUR:
        raise ValueError("a date cursor has no hours; its partitions are days, weeks or months")
    index = _index_of_key(grid, key)
    return Window(_value(cursor, _begin(grid, index)), _value(cursor, _begin(grid, index + 1)))


def touched(grid: Grid, window: Window, until: datetime | int) -> tuple[str, ...]:
    """The keys that share a value with `window`, ascending.

    `until` closes an open or far-away window: the time now (UTC) or the highest value seen; the key that holds it is the last.
    What lies below a time grid's start belongs to no key. An integer window must have a lower end.
    """
    if window.is_empty:
        return ()
    if isinstance(grid, IntegerGrid):
        return _integers_touched(grid, window, until)
    if not isinstance(until, datetime):
        raise TypeError("a time grid is closed by a time")
    last = _index(grid, _naive(until))
    first = 0 if window.lower is None else max(0, _index_of_value(grid, window.lower, beyond=last + 1))
    if window.upper is not None:
        last = min(last, _last_below(grid, window.upper, beyond=last + 1))
    return _time_keys(grid, first, last)


def touched_of(grid: Grid, known: Sequence[str], window: Window, until: datetime | int) -> tuple[str, ...]:
    """Those of the keys of an integer grid that share a value with `window`, up to the one that holds `until`."""
    if not isinstance(grid, IntegerGrid) or isinstance(until, datetime):
        raise TypeError("only an integer grid has keys that are kept")
    highest = until if window.upper is None else min(until, int(window.upper.text) - 1)
    return (
        () if window.is_empty else among(grid, known, None if window.lower is None else int(window.lower.text), highest)
    )


def keys_within(grid: Grid, part: Window) -> tuple[str, ...]:
    """The keys that a window shares a value with; none where it has no keys there, where nothing closes it, or where there are too many."""
    until = _end(grid, part)
    if until is None or (isinstance(grid, IntegerGrid) and part.lower is None):
        return ()
    try:
        return touched(grid, part, until)
    except TooManyPartitions:
        return ()


def _end(grid: Grid, part: Window) -> datetime | int | None:
    """What closes the grid; None where Python's calendar has no such moment."""
    if part.upper is None or not part.upper.is_finite:
        return None
    try:
        return int(part.upper.text) if isinstance(grid, IntegerGrid) else part.upper.moment()
    except ValueError:
        return None


def _place(grid: Grid, key: str) -> int:
    """A key's place in its grid."""
    return place(grid, key) if isinstance(grid, IntegerGrid) else _index_of_key(grid, key)


# --- time -----------------------------------------------------------------------------------------


def _first_day(every: Every, day: date) -> date:
    if every is Every.MONTH:
        return day.replace(day=1)
    if every is Every.WEEK:
        return day - timedelta(days=day.isoweekday() % 7)
    return day


def _naive(moment: datetime) -> datetime:
    return moment if moment.tzinfo is None else moment.astimezone(UTC).replace(tzinfo=None)


def _index(grid: TimeGrid, moment: datetime) -> int:
    if grid.every is Every.MONTH:
        return (moment.year - grid.start.year) * 12 + moment.month - grid.start.month
    return (moment - _midnight(grid.start)) // _STEPS[grid.every]


def _begin(grid: TimeGrid, index: int) -> datetime:
    if grid.every is Every.MONTH:
        years, month = divmod(grid.start.month - 1 + index, 12)
        return datetime(grid.start.year + years, month + 1, 1)  # noqa: DTZ001 - grids reckon in UTC without saying so
    return _midnight(grid.start) + index * _STEPS[grid.every]


def _midnight(day: date) -> datetime:
    return datetime(day.year, day.month, day.day)  # noqa: DTZ001 - as above


def _value(cursor: CursorType, moment: datetime) -> CursorValue:
    return CursorValue.of(cursor, moment.replace(tzinfo=UTC) if cursor is CursorType.TIMESTAMP else moment)


def _index_of_value(grid: TimeGrid, value: CursorValue, *, beyond: int) -> int:
    # Values that Python's calendar cannot hold are either before every grid or after every clock.
    try:
        return _index(grid, _naive(value.moment()))
    except ValueError:
        zero = CursorValue.parse(value.type, "0001-01-01")
        return -1 if value < zero else beyond


def _last_below(grid: TimeGrid, upper: CursorValue, *, beyond: int) -> int:
    index = _index_of_value(grid, upper, beyond=beyond)
    if 0 <= index < beyond and upper <= _value(upper.type, _begin(grid, index)):
        return index - 1
    return index


def _time_keys(grid: TimeGrid, first: int, last: int) -> tuple[str, ...]:
    if last - first + 1 > MOST_KEYS:
        raise TooManyPartitions(
            last - first + 1, MOST_KEYS, "begin later with `from`, or take longer partitions with `every`"
        )
    return tuple(_time_key(grid, index) for index in range(first, last + 1))


def _time_key(grid: TimeGrid, index: int) -> str:
    begin = _begin(grid, index).isoformat()
    return f"{begin[:10]}-{begin[11:16]}" if grid.every is Every.HOUR else begin[:10]


def _index_of_key(grid: TimeGrid, key: str) -> int:
    text = f"{key[:10]}T{key[11:]}" if grid.every is Every.HOUR else key
    try:
        index = _index(grid, datetime.fromisoformat(text))
    except ValueError:
        index = -1
    if index < 0 or _time_key(grid, index) != key:
        raise ValueError(f"{key!r} is not a partition of the grid of {grid.every}s from {grid.start}")
    return index


# --- integers -------------------------------------------------------------------------------------


def _integers_touched(grid: IntegerGrid, window: Window, until: datetime | int) -> tuple[str, ...]:
    if isinstance(until, datetime):
        raise TypeError("an integer grid is closed by the highest value")
    if window.lower is None:
        raise ValueError("an integer window without a lower end has no first key; begin it at the lowest value")
    lowest = int(window.lower.text)
    highest = until if window.upper is None else min(until, int(window.upper.text) - 1)
    return integer_keys(grid, lowest, highest) if lowest <= highest else ()
