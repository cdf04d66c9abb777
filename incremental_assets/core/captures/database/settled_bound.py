"""The settled bound: how far open transactions and running statements allow the watermark to go."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from incremental_assets.core.captures.database.bound import GUARD, Bound
from incremental_assets.core.captures.database.clock_steps import put_back
from incremental_assets.core.captures.database.doubts import (
    of_arrival,
    of_brought,
    of_fallen,
    of_guessed_zone,
    of_key,
    of_last_number,
    of_logins,
    of_numbers,
    of_roles,
    of_shown,
    of_snapshot,
    of_unseen_sequence,
    of_zones,
)
from incremental_assets.core.captures.database.local_readings import lowest_reading, zone_of
from incremental_assets.core.captures.database.position import Settling, position_of
from incremental_assets.core.captures.database.stamps import declared, lowest_stored, of_past_stamps, of_stamps
from incremental_assets.core.model.cursor import CursorValue
from incremental_assets.core.model.guarantee import Guarantee, stated
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import Cursor, TableSpec


@dataclass(frozen=True, slots=True)
class Settled:
    """No transaction can commit below `value` any more; None if nothing is known to have settled."""

    value: CursorValue | None
    guarantee: Guarantee
    reason: str
    settling: Settling | None = None
    within: timedelta | None = None
    """How long stamps may lag, of what is settled within that."""


def settle(spec: TableSpec, cursor: Cursor, bound: Bound, highest: CursorValue | None, state: State | None) -> Settled:
    """The settled bound of one table. `highest` is the largest integer committed before `bound` was taken, None for time cursors.

    Of a cursor by transactions it is the number below which all of them were over before `bound` was taken.
    """
    if cursor.by_transaction:
        return _settle_transactions(spec, bound, highest, state)
    if cursor.type.is_time:
        return _settle_time(spec, cursor, bound, state)
    return _settle_integer(spec, bound, highest, state)


def settle_whole(spec: TableSpec, bound: Bound, done: str = "read") -> Settled:
    """The settled bound of a table that is read whole, or compared, and has no cursor to settle."""
    reason = f"the whole table is {done} in one snapshot"
    if why := of_snapshot(spec) or bound.experimental:
        return Settled(None, Guarantee.BEST_EFFORT, f"{reason}; {why}")
    return Settled(None, Guarantee.SETTLED, reason)


def held_at(uncommitted: CursorValue | None, settled: Settled) -> Settled:
    """No further than the smallest cursor of a row that is written and not committed."""
    if uncommitted is None or settled.value is None or settled.value <= uncommitted:
        return settled
    if not uncommitted.is_finite:
        return replace(settled, value=None)
    return replace(
        settled, value=uncommitted, reason=f"an open transaction has written a row that is stamped {uncommitted}"
    )


def within_drawn(spec: TableSpec, highest: CursorValue | None, drawn: int | None, settled: Settled) -> Settled:
    """No further than the sequence has come from which the next rows have their numbers, where a row has brought a higher one."""
    why = of_brought(spec, highest, drawn)
    if not why or highest is None or drawn is None:
        return settled
    reached = _after(spec, CursorValue.of(highest.type, drawn), spec.holdback if isinstance(spec.holdback, int) else 0)
    if settled.guarantee is Guarantee.SETTLED:
        settled = replace(settled, guarantee=Guarantee.BEST_EFFORT, reason=why)
    return settled if settled.value is None else replace(settled, value=min(settled.value, reached))


def _settle_time(spec: TableSpec, cursor: Cursor, bound: Bound, state: State | None) -> Settled:
    back = put_back(state, bound)
    holdback = spec.holdback if isinstance(spec.holdback, timedelta) else timedelta()
    # The duration of transactions does not matter to a clock that is put back.
    holds_back = bool(holdback) and not (back and back.proven)
    known = _within(spec, *_guarantee(bound, doubt(spec, bound, state), holds_back=holds_back))
    if bound.prepared is not None or (back is not None and back.low is None):
        return replace(known, value=still_settled(spec, bound, state))
    # A holdback covers what cannot be seen, and only that.
    instant = bound.clock if holdback and bound.blind else bound.reached - GUARD
    instant = min(instant, bound.clock - holdback)
    if back is not None and back.low is not None:
        instant = min(instant, back.low - GUARD)
    return replace(known, value=_lowest_stamp(spec, cursor, (bound, state), instant))


def _within(spec: TableSpec, guarantee: Guarantee, reason: str) -> Settled:
    """What is settled is so within the span that the configuration declares of an application's stamps."""
    within = declared(spec)
    if within is None or guarantee is not Guarantee.SETTLED:
        return Settled(None, guarantee, reason)
    promise = stated(Guarantee.SETTLED_WITHIN, within)
    reason = f"{promise} of the application's stamps, as `stamped` declares; {reason}"
    return Settled(None, Guarantee.SETTLED_WITHIN, reason, within=within)


def still_settled(spec: TableSpec, bound: Bound, state: State | None) -> CursorValue | None:
    """The watermark of the last sync, put back with the source's clock; after a reset, which forgets that clock, at most what has settled now."""
    watermark = state.position.watermark if state else None
    if state is None or watermark is None or spec.cursor is None or not spec.cursor.type.is_time:
        return watermark
    back = put_back(state, bound)
    low = back.low if back else None
    if position_of(state).reading is None and state.clock is None:
        low = min(low or bound.clock, bound.reached)
    return watermark if low is None else min(watermark, _lowest_stamp(spec, spec.cursor, (bound, state), low - GUARD))


def _lowest_stamp(spec: TableSpec, cursor: Cursor, known: tuple[Bound, State | None], instant: datetime) -> CursorValue:
    """The smallest stamp of a row whose transaction begins at `instant` or later, as an application may stamp it before, and of what is cut off it.

    Sessions that began before a change of the zone may continue to stamp in the old one.
    """
    bound, state = known
    zones = (zone_of(cursor, bound), *(position_of(state).zones if state else ()))
    earliest = instant - (declared(spec) or timedelta())
    return lowest_stored(spec, min(lowest_reading(replace(cursor, zone=zone), bound, earliest) for zone in zones))


def _settle_integer(spec: TableSpec, bound: Bound, highest: CursorValue | None, state: State | None) -> Settled:
    """A transaction that drew a number up to `highest` was already visible as open when `bound` was taken.

    So it began up to the clock of that time; or, should that have been put back in between, up to the newest begin that was to be seen.
    A number counts once its row and its sequence outlive a crash: commits need not wait for the disk.
    """
    holdback = spec.holdback if isinstance(spec.holdback, int) else 0
    read = state.position.max_cursor_read if state else None
    doubtful = doubt(spec, bound, state) or of_last_number(spec, highest) or of_fallen(spec, read, highest)
    guarantee, reason = _guarantee(bound, doubtful, holds_back=bool(holdback))
    clock = max(bound.clock, bound.newest or bound.clock)
    now = Settling(highest, clock, bound.written) if highest is not None else None
    earlier = _outlived(state, bound)
    if earlier is not None and now is not None and earlier.clock > now.clock:
        # The clock was put back since: waiting until it has caught up would cover nothing more than this later look does.
        earlier = None
    watermark = state.position.watermark if state else None
    if bound.prepared is not None:
        return Settled(watermark, guarantee, reason, earlier or now)
    if bound.blind:
        value = _after(spec, now.highest, holdback) if now else watermark
        return Settled(value, guarantee, reason)
    done = [
        pair
        for pair in (earlier, now)
        if pair is not None and (bound.oldest is None or bound.oldest > pair.clock + GUARD) and _on_disk(pair, bound)
    ]
    value = max((_after(spec, pair.highest, holdback) for pair in done), default=watermark)
    # A bound no higher than the settled one changes nothing: an idle table beside busy ones would else be recorded at every look.
    waiting = (
        pair
        for pair in (earlier, now)
        if pair is not None and pair not in done and (value is None or _after(spec, pair.highest, holdback) > value)
    )
    return Settled(value, guarantee, reason, next(waiting, None))


def _settle_transactions(spec: TableSpec, bound: Bound, over: CursorValue | None, state: State | None) -> Settled:
    """The settled bound of transactions: below `over` none can write any more, prepared ones and those that nobody shows us included, as the source's own snapshot says.

    Unless a crash takes back what is not on its disk yet, and the numbers are given out again.
    """
    watermark = state.position.watermark if state else None
    reason = doubt(spec, bound, state) or _gone_back(over, watermark)
    guarantee = Guarantee.BEST_EFFORT if reason else Guarantee.SETTLED
    now = Settling(over, bound.clock, bound.written) if over is not None else None
    seen = [pair for pair in (_outlived(state, bound), now) if pair is not None]
    value = max((pair.highest for pair in seen if _on_disk(pair, bound)), default=watermark)
    waiting = (pair for pair in seen if not _on_disk(pair, bound) and (value is None or pair.highest > value))
    reason = reason or ("no transaction has ended yet" if value is None else f"every transaction below {value} is over")
    return Settled(value, guarantee, reason, next(waiting, None))


def _gone_back(over: CursorValue | None, watermark: CursorValue | None) -> str:
    if over is None or watermark is None or over >= watermark:
        return ""
    return f"the source's transactions are at {over}, below the watermark {watermark}: its numbers were put back, or a replica lags behind"


def _outlived(state: State | None, bound: Bound) -> Settling | None:
    """What has waited since an earlier look, except what a crash or a failover may have taken back since: those numbers may come again."""
    earlier = position_of(state).settling if state else None
    if earlier is None or new_timeline(state, bound) or (bound.started is not None and bound.started > earlier.clock):
        return None
    return earlier


def _on_disk(pair: Settling, bound: Bound) -> bool:
    return pair.written is None or bound.flushed is None or pair.written <= bound.flushed


def _after(spec: TableSpec, highest: CursorValue, holdback: int) -> CursorValue:
    """The bound just above the highest number less the holdback, or at it where another row may still get that number."""
    return highest.minus(holdback if spec.repeats else holdback - 1)


def doubt(spec: TableSpec, bound: Bound, state: State | None) -> str:
    """Why a run of this table cannot be `settled`, for people; empty if it can."""
    zone = zone_of(spec.cursor, bound)
    if spec.cursor is not None and spec.cursor.by_transaction:
        # Its own snapshot tells the source which transactions are open, and a row has the number of the one that wrote it here.
        found = new_timeline(state, bound) or of_shown(spec) or of_key(spec)
        return "; ".join(each for each in (found, bound.experimental) if each)
    found = (
        bound.blind
        or _clock_went_back(spec, bound, state)
        or new_timeline(state, bound)
        or of_arrival(spec)
        or of_logins(spec, bound.login_trigger)
        or of_numbers(spec)
        or of_unseen_sequence(spec)
        # Of a database that was never run against a real server that says it all.
        or ("" if bound.experimental else of_stamps(spec, zone, bound.clock))
        or of_past_stamps(spec, state)
        or of_roles(spec, zone, bound.clock)
        or of_guessed_zone(spec, is_guess=bound.zone_is_guess)
        or of_zones(spec, zone, position_of(state).zones if state else (), bound.clock)
        or of_shown(spec)
        or of_key(spec)
    )
    return "; ".join(each for each in (found, bound.experimental) if each)


def new_timeline(state: State | None, bound: Bound) -> str:
    """A server that was promoted, or recovered to a moment: which last transactions it lost cannot be seen from here."""
    kept, found = (state.identity if state else None), bound.identity
    if kept is None or found is None or kept.timeline == found.timeline:
        return ""
    return f"the source went from timeline {kept.timeline} to {found.timeline}, by a failover or a recovery"


def _clock_went_back(spec: TableSpec, bound: Bound, state: State | None) -> str:
    """Numbers do not come from a clock: the time at which they were seen says which transactions drew them."""
    back = put_back(state, bound)
    if back is None or not back.proven or spec.cursor is None or not spec.cursor.type.is_time:
        return ""
    if back.low is None:
        return f"the source's clock was put back while a transaction was open that began at {back.high:%Y-%m-%d %H:%M:%S}Z: the watermark waits for its end"
    return (
        f"the source's clock was put back and shows the time from {back.low:%Y-%m-%d %H:%M:%S}Z to {back.high:%Y-%m-%d %H:%M:%S}Z "
        "for a second time: the watermark waits at its start"
    )


def _guarantee(bound: Bound, doubt: str, *, holds_back: bool) -> tuple[Guarantee, str]:
    if doubt:
        return (Guarantee.HOLDBACK if holds_back else Guarantee.BEST_EFFORT), doubt
    if bound.prepared is not None:
        return Guarantee.SETTLED, f"the watermark waits for the prepared transaction {bound.prepared}"
    if bound.since is not None and bound.since < bound.clock - GUARD:
        return (
            Guarantee.SETTLED,
            f"every transaction but those since {bound.since:%Y-%m-%d %H:%M:%S}Z ({bound.holder}) is over",
        )
    if bound.since is not None:
        return Guarantee.SETTLED, f"no transaction had been open for {GUARD.seconds} s"
    return Guarantee.SETTLED, "no transaction was open"
