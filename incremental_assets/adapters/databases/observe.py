"""Which tables have changed? Light queries on many tables at once, in the order that the guarantee depends on (docs/guarantee.md):
the integer maxima, then the bound, then the fingerprints; partitions at both ends, and last whether rows are hidden.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial

from incremental_assets.adapters.databases.dialect import DirtyReading, Drawing, Session, Unread
from incremental_assets.adapters.databases.per_table import answer_or_none
from incremental_assets.core.captures.database.bound import Bound
from incremental_assets.core.captures.database.doubts import drawn_from
from incremental_assets.core.captures.database.local_readings import highest_reading
from incremental_assets.core.captures.database.observation import DatabaseObservation, Parts
from incremental_assets.core.captures.database.parts import joined
from incremental_assets.core.captures.database.position import position_of
from incremental_assets.core.captures.database.windows import narrower, reading, settling
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.fingerprint import Fingerprint
from incremental_assets.core.model.observe_request import ObserveRequest
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import Cursor, TableSpec
from incremental_assets.core.model.window import Window
from incremental_assets.core.planning.plan import Request


def observe(session: Session, looks: Sequence[ObserveRequest]) -> tuple[DatabaseObservation, ...]:
    """One observation per look, in their order."""
    tables = [look.spec.id for look in looks]
    before = session.members(tables)
    maxima = _maxima(session, looks)
    # Behind the maxima: whatever number one of them was drawn as, its sequence has come to by now.
    drawn = _drawn(session, looks)
    bound = session.bound([look.spec for look in looks])
    # Without fingerprints first: they are asked over what a sync would read now, which the bound decides.
    plain = [DatabaseObservation(bound, highest, drawn=last) for highest, last in zip(maxima, drawn, strict=True)]
    plain = _held_back(session, looks, plain)
    # The narrower ones before the kept ones: an equal kept one then confirms what they have seen.
    narrowed = _fingerprints(session, looks, bound, _windows(_narrowed_window, looks, plain))
    marks = _fingerprints(session, looks, bound, _windows(_kept_window, looks, plain))
    made_of = parts(session, looks, before)
    # Last: what is shown now was shown to all that was asked before.
    hidden = session.hidden(tables)
    return tuple(
        replace(seen, fingerprint=mark, narrowed=less, parts=made, hides=look.spec.id in hidden)
        for look, seen, mark, less, made in zip(looks, plain, marks, narrowed, made_of, strict=True)
    )


def lag(session: Session, looks: Sequence[ObserveRequest]) -> tuple[float, ...]:
    """Seconds per look since the oldest row that has not landed was stamped."""
    observations = observe(session, looks)
    unread: dict[int, Unread] = {}
    lags = [0.0] * len(looks)
    for index, (look, seen) in enumerate(zip(looks, observations, strict=True)):
        lags[index] = _since_last_sync(look.spec, look.state, seen)
        cursor = look.spec.cursor
        if look.spec.read_by is None or cursor is None or not cursor.type.is_time:
            continue
        if look.state is None or lags[index] > 0:
            found = answer_or_none(look.spec, partial(_unread, look, cursor, seen.bound))
            unread |= {index: found} if found else {}
    if not unread:
        return tuple(lags)
    clock = observations[0].bound.clock
    for index, seconds in session.ages(unread, clock, alone=len(looks) == 1).items():
        if seconds is not None:
            lags[index] = max(0.0, seconds)
    return tuple(lags)


def lowest(session: Session, specs: Sequence[TableSpec]) -> tuple[CursorValue | None, ...]:
    """The smallest cursor per table. It only tells where a table begins, so that one which is slow to say goes without."""
    wanted = {index: spec for index, spec in enumerate(specs) if spec.read_by is not None}
    found = session.lowest(wanted, alone=False)
    return tuple(found.get(index) for index in range(len(specs)))


def parts(session: Session, looks: Sequence[ObserveRequest], before: Sequence[tuple[int, ...]]) -> list[Parts]:
    """What is there now and was `before`: a member that was away in between is of those that have joined, next time."""
    if not any(before):
        # The state of a look may know of members that have left since.
        return [Parts(()) for _ in looks]
    after = session.members([look.spec.id for look in looks])
    stayed = [Parts(tuple(one for one in now if one in then)) for then, now in zip(before, after, strict=True)]
    new = {
        index: (look.spec, unread)
        for index, (look, each) in enumerate(zip(looks, stayed, strict=True))
        if look.spec.read_by is not None and (unread := joined(look.state, each))
    }
    # Without an answer, what has joined is read whole, by a sync that says what is wrong.
    for index, begins in session.lowest_of_members(new, alone=len(looks) == 1).items() if new else ():
        stayed[index] = Parts(stayed[index].members, new[index][1], begins)
    return stayed


def _maxima(session: Session, looks: Sequence[ObserveRequest]) -> list[CursorValue | None]:
    numbered = {
        index: look.spec
        for index, look in enumerate(looks)
        if look.spec.read_by is not None and look.spec.read_by.type is CursorType.INTEGER
    }
    found = session.highest(numbered, alone=len(looks) == 1) if numbered else {}
    return [found.get(index) for index in range(len(looks))]


def _drawn(session: Session, looks: Sequence[ObserveRequest]) -> list[int | None]:
    wanted = {index: look.spec for index, look in enumerate(looks) if drawn_from(look.spec) is not None}
    found = session.drawn(wanted) if wanted and isinstance(session, Drawing) else {}
    return [found.get(index) for index in range(len(looks))]


def _held_back(
    session: Session, looks: Sequence[ObserveRequest], seen: list[DatabaseObservation]
) -> list[DatabaseObservation]:
    """The observations with the smallest cursor that open transactions have written below the bound; `-infinity` where that cannot be asked. After the bound, which lists these transactions."""
    if not isinstance(session, DirtyReading):
        return seen
    windows = [
        answer_or_none(look.spec, partial(settling, look.spec, look.state, each.bound))
        if each.bound.uncommitted
        else None
        for look, each in zip(looks, seen, strict=True)
    ]
    wanted = {index: (looks[index].spec, window) for index, window in enumerate(windows) if window is not None}
    found = session.lowest_uncommitted(wanted, alone=len(looks) == 1) if wanted else {}
    # Of a table without an answer nothing is known to have settled.
    unknown = {
        index: CursorValue(window.upper.type, "-infinity") for index, (_, window) in wanted.items() if window.upper
    }
    return [replace(each, uncommitted=(unknown | found).get(index)) for index, each in enumerate(seen)]


def _fingerprints(
    session: Session, looks: Sequence[ObserveRequest], bound: Bound, windows: Sequence[Window | None]
) -> list[Fingerprint | None]:
    wanted = {index: (looks[index].spec, window) for index, window in enumerate(windows) if window is not None}
    found = session.fingerprints(wanted, bound, alone=len(looks) == 1) if wanted else {}
    return [found.get(index) for index in range(len(looks))]


def _windows(
    window_of: Callable[[ObserveRequest, DatabaseObservation], Window | None],
    looks: Sequence[ObserveRequest],
    seen: Iterable[DatabaseObservation],
) -> list[Window | None]:
    return [
        answer_or_none(look.spec, partial(window_of, look, observation))
        for look, observation in zip(looks, seen, strict=True)
    ]


def _kept_window(look: ObserveRequest, seen: DatabaseObservation) -> Window | None:
    """The kept fingerprint's window as it would be read now; None where there is nothing to compare with."""
    kept = position_of(look.state).fingerprint if look.state else None
    if kept is None or look.spec.read_by is None:
        return None
    return _from(kept.lower, look, seen)


def _narrowed_window(look: ObserveRequest, seen: DatabaseObservation) -> Window | None:
    """The window above the watermark of now, where the kept fingerprint begins below it: else every look would count all that landed before."""
    lower = narrower(look.spec, look.state)
    return None if lower is None else _from(lower, look, seen)


def _from(lower: CursorValue | None, look: ObserveRequest, seen: DatabaseObservation) -> Window:
    return Window(lower, None).clamp_upper(reading(look.spec, Request(run_id=""), look.state, seen).upper)


def _since_last_sync(spec: TableSpec, state: State | None, seen: DatabaseObservation) -> float:
    """What has not landed was committed after the last sync, so that it waits since then at most; 0.0 where nothing moved."""
    if state is None or state.clock is None:
        return 0.0
    since = _seconds(state.clock, seen.bound.clock)
    if spec.read_by is None:
        return max(0.0, since - spec.refresh_every.total_seconds())
    return (
        0.0
        if position_of(state).fingerprint is not None and position_of(state).fingerprint == seen.fingerprint
        else since
    )


def _unread(look: ObserveRequest, cursor: Cursor, bound: Bound) -> Unread:
    """The stamps above all that was read, or all of the table's if nothing was; none past the clock."""
    spec, state = look.spec, look.state
    reached = state.position.max_cursor_read if state else None
    if reached is not None and state is not None and state.clock is not None:
        reached = min(reached, highest_reading(cursor, bound, state.clock))
    above = reached or CursorValue(cursor.type, "-infinity")
    window = Window(reached or spec.start or above, None)
    now = highest_reading(cursor, bound, bound.clock)
    return Unread(spec, window.clamp_upper(now), above, cursor.zone or bound.zone)


def _seconds(since: datetime, now: datetime) -> float:
    return max(0.0, (now - since).total_seconds())
