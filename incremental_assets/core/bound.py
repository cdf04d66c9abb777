"""How far a source has settled: what its open transactions and running statements allow a watermark to be."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from zoneinfo import ZoneInfo

from incremental_assets.core.cursor import CursorType, CursorValue
from incremental_assets.core.doubts import of_arrival, of_numbers, of_roles, of_zones
from incremental_assets.core.state import Identity, Settling, State
from incremental_assets.core.table import Cursor, TableSpec

GUARD = timedelta(seconds=2)
"""A transaction has its stamp some microseconds before the view of open transactions shows it."""


class Guarantee(StrEnum):
    """What a run can promise about rows that commit late, strongest first."""

    SETTLED = "settled"
    HOLDBACK = "holdback"
    BEST_EFFORT = "best_effort"


@dataclass(frozen=True, slots=True)
class Bound:
    """What the source said in its own autocommit statements, before the snapshot: clock first, then open, then prepared transactions."""

    clock: datetime
    oldest: datetime | None
    """Start of the oldest open transaction, or of a statement that may open more; None when there is neither."""
    holder: str
    """Who holds it open, for people: pid, user and application; empty when nobody."""
    prepared: str | None
    """A prepared transaction, for people; its stamps may be older than anything the source tells."""
    blind: str
    """Why some transactions could not be seen; empty when all could."""
    zone: str
    """The database's own time zone, in which zone-less stamps are read unless the cursor names another."""
    identity: Identity | None


@dataclass(frozen=True, slots=True)
class Settled:
    """Below `value` nothing can commit any more; None means that nothing is known to have settled."""

    value: CursorValue | None
    guarantee: Guarantee
    reason: str
    settling: Settling | None = None


def settle(spec: TableSpec, cursor: Cursor, bound: Bound, highest: CursorValue | None, state: State | None) -> Settled:
    """The settled bound of one table. `highest` is the largest integer committed before `bound` was asked, None for time cursors."""
    if cursor.type.is_time:
        return _settle_time(spec, cursor, bound, state)
    return _settle_integer(spec, bound, highest, state)


def _settle_time(spec: TableSpec, cursor: Cursor, bound: Bound, state: State | None) -> Settled:
    holdback = spec.holdback if isinstance(spec.holdback, timedelta) else timedelta()
    guarantee, reason = _guarantee(bound, doubt(spec, bound, state), holds_back=bool(holdback))
    if bound.prepared is not None:
        return Settled(state.watermark if state else None, guarantee, reason)
    oldest = min(bound.clock, bound.oldest or bound.clock)
    # A holdback stands for what cannot be seen, and for nothing that can.
    instant = bound.clock if holdback and bound.blind else oldest - GUARD
    instant = min(instant, bound.clock - holdback)
    # Sessions that began before a change of the zone may go on to stamp in the old one.
    zones = (zone_of(cursor, bound), *(state.zones if state else ()))
    value = min(lowest_reading(replace(cursor, zone=zone), bound, instant) for zone in zones)
    return Settled(value, guarantee, reason)


def _settle_integer(spec: TableSpec, bound: Bound, highest: CursorValue | None, state: State | None) -> Settled:
    """Whoever drew a number up to `highest` was already to be seen as open when `bound` was asked: it began before the clock of that time.

    The guard is for a source whose clock was put back a little in between, so that such a begin reads later than that clock.
    """
    holdback = spec.holdback if isinstance(spec.holdback, int) else 0
    guarantee, reason = _guarantee(bound, doubt(spec, bound, state), holds_back=bool(holdback))
    now = Settling(highest, bound.clock) if highest is not None else None
    earlier = state.settling if state else None
    watermark = state.watermark if state else None
    if bound.prepared is not None:
        return Settled(watermark, guarantee, reason, earlier or now)
    if bound.blind:
        value = _after(spec, now.highest, holdback) if now else watermark
        return Settled(value, guarantee, reason)
    done = [
        pair
        for pair in (earlier, now)
        if pair is not None and (bound.oldest is None or bound.oldest > pair.clock + GUARD)
    ]
    value = max((_after(spec, pair.highest, holdback) for pair in done), default=watermark)
    waiting = next((pair for pair in (earlier, now) if pair is not None and pair not in done), None)
    return Settled(value, guarantee, reason, waiting)


def _after(spec: TableSpec, highest: CursorValue, holdback: int) -> CursorValue:
    """Behind the highest number, and at it where another row may still get that very number."""
    return highest.minus(holdback if spec.repeats else holdback - 1)


def doubt(spec: TableSpec, bound: Bound, state: State | None) -> str:
    """Why a run of this table cannot be `settled`, for people; empty where nothing stands against it."""
    zone = zone_of(spec.cursor, bound)
    return (
        bound.blind
        or of_arrival(spec)
        or of_numbers(spec)
        or of_roles(spec, zone, bound.clock)
        or of_zones(spec, zone, state.zones if state else (), bound.clock)
    )


def _guarantee(bound: Bound, doubt: str, *, holds_back: bool) -> tuple[Guarantee, str]:
    if doubt:
        return (Guarantee.HOLDBACK if holds_back else Guarantee.BEST_EFFORT), doubt
    if bound.prepared is not None:
        return Guarantee.SETTLED, f"the watermark waits for the prepared transaction {bound.prepared}"
    if bound.oldest is not None and bound.oldest < bound.clock - GUARD:
        return (
            Guarantee.SETTLED,
            f"every transaction but those since {bound.oldest:%Y-%m-%d %H:%M:%S}Z ({bound.holder}) is over",
        )
    if bound.oldest is not None:
        return Guarantee.SETTLED, f"no transaction had been open for {GUARD.seconds} s"
    return Guarantee.SETTLED, "no transaction was open"


# --- an instant as the cursor's own reading -------------------------------------------------------


def lowest_reading(cursor: Cursor, bound: Bound, instant: datetime) -> CursorValue:
    """The smallest value that the cursor can show at or after `instant`: in an hour that the zone repeats, that hour's start."""
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
    """In which zone stamps without one are read."""
    return cursor.zone if cursor is not None and cursor.zone is not None else bound.zone


def _local(cursor: Cursor, bound: Bound, instant: datetime) -> datetime:
    return instant.astimezone(ZoneInfo(zone_of(cursor, bound))).replace(tzinfo=None)


def _turns(cursor: Cursor, bound: Bound, begin: datetime, span: timedelta) -> list[datetime]:
    """The instants in `(begin, begin + span]` at which the zone's clocks are put back; zones turn on quarter hours."""
    zone = ZoneInfo(zone_of(cursor, bound))
    quarter = timedelta(minutes=15)
    begin = begin.astimezone(UTC)
    first = begin.replace(minute=begin.minute - begin.minute % 15, second=0, microsecond=0)
    steps = [first + quarter * step for step in range(span // quarter + 2)]
    offsets = [step.astimezone(zone).utcoffset() or timedelta() for step in steps]
    pairs = zip(steps[1:], offsets[:-1], offsets[1:], strict=True)
    return [step for step, before, after in pairs if after < before and begin < step <= begin + span]
