"""Was the source's clock put back: by NTP, on a resumed machine, or by a failover to a slower host? Rows are then stamped again with a time
below what had settled.

A time that the clock shows twice is like the hour that a zone repeats in autumn: before and during it the settled bound stays at its start.
"""

from __future__ import annotations

from datetime import timedelta

from incremental_assets.core.captures.database.bound import Bound
from incremental_assets.core.captures.database.position import position_of
from incremental_assets.core.model.clock_reading import ClockReading, PutBack
from incremental_assets.core.model.state import State

TOLERANCE = timedelta(seconds=1)
"""How far clocks may differ without having been set; the guard of the settled bound is twice as long."""


def put_back(state: State | None, bound: Bound) -> PutBack | None:
    """The span that the source's clock shows a second time, from the kept state and the current observation; None if there is none."""
    known = _known(state)
    spans = [
        span
        for span in (_still_repeated(state, bound), _fallen(known, bound), _older(known, bound), _ahead(known, bound))
        if span is not None
    ]
    if not spans:
        return None
    lows = [span.low for span in spans if span.low is not None]
    return PutBack(
        low=min(lows) if len(lows) == len(spans) else None,
        high=max(span.high for span in spans),
        proven=any(span.proven for span in spans),
    )


def _known(state: State | None) -> ClockReading | None:
    """The last reading of the source's clock; if the state has none, the clock of its last sync."""
    if state is None:
        return None
    if position_of(state).reading is None and state.clock is not None:
        return ClockReading(state.clock, None, None)
    return position_of(state).reading


def _still_repeated(state: State | None, bound: Bound) -> PutBack | None:
    """The span of the last state, until the clock and the start of every open transaction have passed its end; then None."""
    kept = position_of(state).put_back if state else None
    return kept if kept is not None and bound.reached <= kept.high else None


def _fallen(known: ClockReading | None, bound: Bound) -> PutBack | None:
    """The clock shows less than before, or less than before plus the time that passed on our own clocks: rows can be stamped lower by that difference at most."""
    if known is None:
        return None
    fell = known.source - bound.clock
    shortest, longest = _elapsed(known, bound)
    at_most = fell + longest
    if at_most <= TOLERANCE:
        return None
    return PutBack(known.source - at_most, bound.clock + at_most, proven=fell + shortest > TOLERANCE)


def _elapsed(known: ClockReading, bound: Bound) -> tuple[timedelta, timedelta]:
    """How much time has passed between the two readings, at least and at most.

    Since one boot of one machine that is measured. Between two machines, or two boots, there are only their clocks: should they disagree, too
    much is read again, and nothing is proven.
    """
    before, after = known.host, bound.host
    if before is None or after is None:
        return timedelta(), timedelta()
    if before.boot and before.boot == after.boot:
        since = after.uptime - before.uptime
        return timedelta(seconds=max(0.0, since - before.took)), timedelta(seconds=max(0.0, since + after.took))
    return timedelta(), timedelta(seconds=max(0.0, after.wall - before.wall + after.took))


def _older(known: ClockReading | None, bound: Bound) -> PutBack | None:
    """A transaction that was not open then, and began before all that were: it began since, by a clock that was put back."""
    if known is None or known.oldest is None or bound.oldest is None or bound.blind:
        return None
    if bound.oldest >= known.oldest - TOLERANCE:
        return None
    return PutBack(bound.oldest, bound.clock, proven=True)


def _ahead(known: ClockReading | None, bound: Bound) -> PutBack | None:
    """A transaction that began later than now: the clock was put back while it was open, and its later stamps may have any lower value."""
    if bound.newest is None or bound.newest <= max(bound.clock, bound.listed or bound.clock) + TOLERANCE:
        return None
    return PutBack(known.source if known else None, bound.newest, proven=True)
