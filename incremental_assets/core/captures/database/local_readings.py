"""An instant as local times of the cursor's zone, including hours that occur twice."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

from incremental_assets.core.captures.database.bound import Bound
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.table import Cursor


def lowest_reading(cursor: Cursor, bound: Bound, instant: datetime) -> CursorValue:
    """The smallest value that the cursor can show at or after `instant`: in an hour that the zone repeats, the start of that hour."""
    if cursor.type is CursorType.TIMESTAMP:
        return CursorValue.of(cursor.type, instant)
    readings = [_local(cursor, bound, instant)]
    readings += [_local(cursor, bound, later) for later in _turns(cursor, bound, instant, timedelta(hours=26))]
    return CursorValue.of(cursor.type, min(readings))


def highest_reading(cursor: Cursor, bound: Bound, instant: datetime) -> CursorValue:
    """The largest value that the cursor can have shown up to `instant`; a date covers its whole day, so the next day stands for it."""
    if cursor.type is CursorType.TIMESTAMP:
        return CursorValue.of(cursor.type, instant)
    readings = [_local(cursor, bound, instant)]
    instantly = timedelta(microseconds=1)
    readings += [
        _local(cursor, bound, turn - instantly)
        for turn in _turns(cursor, bound, instant - timedelta(hours=26), timedelta(hours=26))
    ]
    highest = max(readings)
    return CursorValue.of(cursor.type, highest + timedelta(days=1) if cursor.type is CursorType.DATE else highest)


def zone_of(cursor: Cursor | None, bound: Bound) -> str:
    """The zone in which stamps without a zone are read."""
    return cursor.zone if cursor is not None and cursor.zone is not None else bound.zone


def _local(cursor: Cursor, bound: Bound, instant: datetime) -> datetime:
    return instant.astimezone(ZoneInfo(zone_of(cursor, bound))).replace(tzinfo=None)


def _turns(cursor: Cursor, bound: Bound, begin: datetime, span: timedelta) -> tuple[datetime, ...]:
    return _put_back(ZoneInfo(zone_of(cursor, bound)), begin.astimezone(UTC), span)


# Tables of one look ask for the same ones.
@lru_cache(maxsize=256)
def _put_back(zone: ZoneInfo, begin: datetime, span: timedelta) -> tuple[datetime, ...]:
    """The instants in `(begin, begin + span]` at which a zone's clocks are put back; zones turn on quarter hours."""
    quarter = timedelta(minutes=15)
    first = begin.replace(minute=begin.minute - begin.minute % 15, second=0, microsecond=0)
    steps = [first + quarter * step for step in range(span // quarter + 2)]
    offsets = [step.astimezone(zone).utcoffset() or timedelta() for step in steps]
    pairs = zip(steps[1:], offsets[:-1], offsets[1:], strict=True)
    return tuple(step for step, before, after in pairs if after < before and begin < step <= begin + span)
