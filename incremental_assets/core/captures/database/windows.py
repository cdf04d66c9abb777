"""The windows of a table: what a sync reads now, what would settle now, and what a fingerprint covers."""

from __future__ import annotations

from datetime import timedelta

from incremental_assets.core.captures.database.bound import Bound
from incremental_assets.core.captures.database.local_readings import highest_reading
from incremental_assets.core.captures.database.observation import DatabaseObservation
from incremental_assets.core.captures.database.parts import reaching
from incremental_assets.core.captures.database.position import position_of
from incremental_assets.core.captures.database.settled_bound import settle, still_settled
from incremental_assets.core.captures.database.stamps import declared, restamped
from incremental_assets.core.model.cursor import CursorValue, Span
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import FuturePolicy, TableSpec
from incremental_assets.core.model.window import Window
from incremental_assets.core.planning.plan import Mode, Request

_FEW = 1_000
"""Rows that PostgreSQL counts in a third of a millisecond: about what another question costs."""


def reading(spec: TableSpec, request: Request, state: State | None, observation: DatabaseObservation) -> Window:
    """The window that a sync of an incremental table would read now; `upper` is open unless something holds rows back."""
    upper = _upper(spec, observation)
    if request.mode.reads_again:
        if request.window is None:
            raise ValueError("a backfill, a repair, a replay or a fill of an incremental table names its window")
        # Of new columns rows that no sync has read are left as they are, so that none need be held back.
        return request.window if request.mode is Mode.FILL else request.window.clamp_upper(upper)
    if request.mode is Mode.FULL_REFRESH:
        return Window(spec.start, None).clamp_upper(upper)
    if position_of(state).loading is not None:
        return Window(spec.start, None).clamp_upper(upper)
    lower = lower_end(spec, still_settled(spec, observation.bound, state))
    return Window(reaching(lower, spec.start, state, observation.parts), None).clamp_upper(upper)


def settling(spec: TableSpec, state: State | None, bound: Bound) -> Window | None:
    """What would settle now, by the starts of transactions: the part of it that was written and is not committed has not. None if nothing would."""
    if spec.read_by is None or not spec.read_by.type.is_time:
        return None
    upper = settle(spec, spec.read_by, bound, None, state).value
    # Nothing below the last watermark can be uncommitted, except in another source.
    known = state if state and state.identity and bound.identity and bound.identity.is_of(state.identity) else None
    lower = still_settled(spec, bound, restamped(spec, known)) or spec.start
    return None if upper is None or (lower is not None and upper <= lower) else Window(lower, upper)


def narrower(spec: TableSpec, state: State | None) -> CursorValue | None:
    """The value at which a fingerprint may begin now that the watermark has passed the start of the kept one; None if it has not, or the kept one counts few rows."""
    kept = position_of(state).fingerprint if state else None
    if kept is None or state is None or spec.read_by is None or kept.rows <= _FEW:
        return None
    lower = lower_end(spec, state.position.watermark)
    return lower if lower is not None and (kept.lower is None or kept.lower < lower) else None


def lower_end(spec: TableSpec, watermark: CursorValue | None) -> CursorValue | None:
    """Nothing below `start` is ever read, except after a reset of the watermark below it.

    What an application stamps is read from as far below the watermark as that stays behind: a row that came later than declared is found there.
    """
    if watermark is None:
        return spec.start
    moved = watermark.minus(max(_duration(spec.lookback), within) if (within := declared(spec)) else spec.lookback)
    return moved if spec.start is None else max(moved, min(spec.start, watermark))


def _duration(span: Span) -> timedelta:
    """The lookback of a time cursor."""
    return span if isinstance(span, timedelta) else timedelta()


def _upper(spec: TableSpec, observation: DatabaseObservation) -> CursorValue | None:
    cursor, bound = spec.cursor, observation.bound
    if cursor is None:
        return None
    if isinstance(spec.holdback, timedelta) and spec.holdback:
        return highest_reading(cursor, bound, bound.clock - spec.holdback)
    if spec.holdback and observation.highest is not None:
        return observation.highest.minus(int(spec.holdback) - 1)  # type: ignore[arg-type]
    if spec.future is FuturePolicy.WAIT and cursor.type.is_time:
        return highest_reading(cursor, bound, bound.clock)
    return None
