"""Has anything moved? Asked of many tables at once: the integer maxima, then the bound, then the fingerprints; partitions at both ends."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any, TypeVar

import psycopg

from incremental_assets.adapters.databases.postgresql.batch import Question, answers
from incremental_assets.adapters.databases.postgresql.bound import local_times, take_bound
from incremental_assets.adapters.databases.postgresql.catalogue import hidden
from incremental_assets.adapters.databases.postgresql.numbers import (
    fingerprint,
    fingerprint_sql,
    highest_sql,
    parse_cursor,
)
from incremental_assets.adapters.databases.postgresql.parts import members, parts
from incremental_assets.adapters.databases.postgresql.sql import (
    Parameters,
    cursor_of,
    cursor_value,
    effective,
    inside,
    orderly,
    relation,
)
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.look import Look
from incremental_assets.core.model.state import Fingerprint, State
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.window import Window
from incremental_assets.core.planning.plan import Observation, Request
from incremental_assets.core.planning.planner import narrower, reading
from incremental_assets.core.planning.settled_bound import Bound, highest_reading

_log = logging.getLogger(__name__)
_Found = TypeVar("_Found")


def observe(asked: psycopg.RawCursor[Any], looks: Sequence[Look]) -> tuple[Observation, ...]:
    """One observation per look, in their order."""
    before = members(asked, looks)
    maxima = _maxima(asked, looks)
    bound = take_bound(asked)
    bound = replace(bound, local_times=local_times(asked, [look.spec for look in looks], bound))
    # Without fingerprints first: they are asked over what a sync would read now, which the bound decides.
    partial = [Observation(bound, highest) for highest in maxima]
    # The narrower ones before the kept ones: an equal kept one then vouches for what they have seen.
    narrowed = _fingerprints(asked, looks, bound, _windows(_narrowed_window, looks, partial))
    marks = _fingerprints(asked, looks, bound, _windows(_kept_window, looks, partial))
    made_of = parts(asked, looks, before)
    # Last: what is shown now was shown to all that was asked before.
    filtered = hidden(asked, [look.spec.id for look in looks])
    return tuple(
        Observation(bound, seen.highest, mark, less, made, hides=(look.spec.id.schema, look.spec.id.name) in filtered)
        for look, seen, mark, less, made in zip(looks, partial, marks, narrowed, made_of, strict=True)
    )


def lag(asked: psycopg.RawCursor[Any], looks: Sequence[Look]) -> tuple[float, ...]:
    """Seconds per look since the oldest row that has not landed was stamped."""
    observations = observe(asked, looks)
    questions: dict[int, Question] = {}
    lags = [0.0] * len(looks)
    for index, (look, seen) in enumerate(zip(looks, observations, strict=True)):
        lags[index] = _since_last_sync(look.spec, look.state, seen)
        cursor = look.spec.cursor
        if (
            look.spec.is_incremental
            and cursor is not None
            and cursor.type.is_time
            and (look.state is None or lags[index] > 0)
        ):
            question = _apart(look.spec, partial(_oldest_unread, look, seen.bound))
            questions |= {index: question} if question else {}
    for index, (seconds,) in answers(asked, questions, alone=len(looks) == 1).items():
        if seconds is not None:
            lags[index] = max(0.0, float(seconds))
    return tuple(lags)


def lowest(asked: psycopg.RawCursor[Any], specs: Sequence[TableSpec]) -> tuple[CursorValue | None, ...]:
    """The smallest cursor per table. It only tells where a table begins, so that one which is slow to say goes without."""
    questions = {index: _lowest_question(spec) for index, spec in enumerate(specs) if spec.is_incremental}
    found = answers(asked, questions, alone=False)
    return tuple(_parsed(spec, found.get(index)) for index, spec in enumerate(specs))


# --- the three questions ------------------------------------------------------------------------------


def _maxima(asked: psycopg.RawCursor[Any], looks: Sequence[Look]) -> list[CursorValue | None]:
    numbered = {
        index: _highest_question(look.spec)
        for index, look in enumerate(looks)
        if look.spec.is_incremental and cursor_of(look.spec).type is CursorType.INTEGER
    }
    found = answers(asked, numbered, alone=len(looks) == 1)
    return [_parsed(look.spec, found.get(index)) for index, look in enumerate(looks)]


def _lowest_question(spec: TableSpec) -> Question:
    return lambda _: f"SELECT CAST(min({orderly(spec)}) AS text) FROM {relation(spec.id)}"


def _highest_question(spec: TableSpec) -> Question:
    return lambda _: highest_sql(spec)


def _fingerprints(
    asked: psycopg.RawCursor[Any], looks: Sequence[Look], bound: Bound, wanted: Sequence[Window | None]
) -> list[Fingerprint | None]:
    windows = {index: window for index, window in enumerate(wanted) if window is not None}
    questions = {index: _fingerprint_question(looks[index].spec, window) for index, window in windows.items()}
    found = answers(asked, questions, alone=len(looks) == 1)
    return [
        _apart(look.spec, partial(fingerprint, look.spec, windows[index].lower, found[index], bound))
        if index in found
        else None
        for index, look in enumerate(looks)
    ]


def _windows(
    window_of: Callable[[Look, Observation], Window | None], looks: Sequence[Look], seen: Iterable[Observation]
) -> list[Window | None]:
    return [
        _apart(look.spec, partial(window_of, look, observation)) for look, observation in zip(looks, seen, strict=True)
    ]


def _parsed(spec: TableSpec, answer: tuple[Any, ...] | None) -> CursorValue | None:
    return None if answer is None else _apart(spec, partial(parse_cursor, spec, answer[0]))


def _apart(spec: TableSpec, work: Callable[[], _Found]) -> _Found | None:
    """What is made of one table, or nothing where that fails: the other tables go on, and its own sync meets the error again and says it."""
    try:
        return work()
    except Exception:  # noqa: BLE001 - whatever it was
        _log.debug("%s: left out of a look", spec.id, exc_info=True)
        return None


def _kept_window(look: Look, seen: Observation) -> Window | None:
    """The kept fingerprint's window as it would be read now; None where there is nothing to compare with."""
    kept = look.state.fingerprint if look.state else None
    if kept is None or not look.spec.is_incremental:
        return None
    return _from(kept.lower, look, seen)


def _narrowed_window(look: Look, seen: Observation) -> Window | None:
    """Above the watermark of now, where the kept fingerprint begins below it: else every look would count all that landed before."""
    lower = narrower(look.spec, look.state)
    return None if lower is None else _from(lower, look, seen)


def _from(lower: CursorValue | None, look: Look, seen: Observation) -> Window:
    return Window(lower, None).clamp_upper(reading(look.spec, Request(run_id=""), look.state, seen).upper)


def _fingerprint_question(spec: TableSpec, window: Window) -> Question:
    return lambda values: fingerprint_sql(spec, window, values)


def _since_last_sync(spec: TableSpec, state: State | None, seen: Observation) -> float:
    """What has not landed was committed after the last sync, so that it waits since then at most; 0.0 where nothing moved."""
    if state is None or state.clock is None:
        return 0.0
    since = _seconds(state.clock, seen.bound.clock)
    if not spec.is_incremental:
        return max(0.0, since - spec.refresh_every.total_seconds())
    return 0.0 if state.fingerprint is not None and state.fingerprint == seen.fingerprint else since


def _oldest_unread(look: Look, bound: Bound) -> Question:
    """Age of the oldest stamp above all that was read, or of the table's first one if nothing was; NULL when there is none."""
    spec, state = look.spec, look.state
    cursor = cursor_of(spec)
    now = highest_reading(cursor, bound, bound.clock)
    reached = state.position.max_cursor_read if state else None
    if reached is not None and state is not None and state.clock is not None:
        reached = min(reached, highest_reading(cursor, bound, state.clock))
    lowest = CursorValue(cursor.type, "-infinity")
    window = Window(reached or spec.start or lowest, None).clamp_upper(now)

    def question(values: Parameters) -> str:
        stamp = f"min({effective(spec)})"
        if cursor.type is not CursorType.TIMESTAMP:
            stamp = f"(CAST({stamp} AS timestamp) AT TIME ZONE {values(cursor.zone or bound.zone, 'text')})"
        above = f"{effective(spec)} > {cursor_value(spec, reached or lowest, values)}"
        rows = inside(spec, window, values, nulls=False)
        return f"SELECT extract(epoch FROM {values(bound.clock.isoformat(), 'timestamptz')} - {stamp}) FROM {relation(spec.id)} WHERE {rows} AND {above}"

    return question


def _seconds(since: datetime, now: datetime) -> float:
    return max(0.0, (now - since).total_seconds())
