"""Decide what one sync reads and where its watermark goes: pure, from the configuration, the last state and what the source said."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from enum import StrEnum

from incremental_assets.core.bound import Bound, Guarantee, Settled, highest_reading, settle
from incremental_assets.core.cursor import CursorValue
from incremental_assets.core.errors import SourceExchanged, TermsChanged
from incremental_assets.core.state import Fingerprint, State
from incremental_assets.core.table import FuturePolicy, Strategy, TableSpec
from incremental_assets.core.window import Window, merge


class Mode(StrEnum):
    """Why a sync runs: go on from the watermark, read a window again, or read everything again."""

    SYNC = "sync"
    BACKFILL = "backfill"
    FULL_REFRESH = "full_refresh"


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked of one table. `window` belongs to a backfill."""

    run_id: str
    mode: Mode = Mode.SYNC
    window: Window | None = None
    allow_shrink: bool = False


@dataclass(frozen=True, slots=True)
class Ticket:
    """The names under which one sync commits: the target's app id, a sequence never used before, and its batch."""

    app_id: str
    seq: int
    batch_id: str


@dataclass(frozen=True, slots=True)
class Observation:
    """What the source said of one table, in this order: highest integer, bound, fingerprint over what the next sync would read."""

    bound: Bound
    highest: CursorValue | None = None
    fingerprint: Fingerprint | None = None
    narrowed: Fingerprint | None = None
    """Of what would be read now, where the kept one reaches further down; asked just before it, so that an equal one vouches for it."""


@dataclass(frozen=True, slots=True)
class Nothing:
    """Nothing to read. `state` is set when the watermark moved all the same."""

    reason: str
    guarantee: Guarantee
    guarantee_reason: str
    settled: CursorValue | None
    previous_watermark: CursorValue | None
    state: State | None = None
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SyncPlan:
    """One read and one commit, decided before anything is touched."""

    spec: TableSpec
    request: Request
    ticket: Ticket
    window: Window
    bound: Bound
    settled: Settled
    previous: State | None
    new_watermark: CursorValue | None
    fingerprint_lower: CursorValue | None
    """The next sync's lower bound, at and above which the snapshot is fingerprinted."""
    late_below: CursorValue | None
    """What first lands from below this was committed late: an earlier sync had read that far."""
    future_above: CursorValue | None
    """Stamps at or above this are past the source's clock; None for integers and for tables without a cursor."""
    warnings: tuple[str, ...] = ()

    @property
    def overwrites(self) -> bool:
        """Whether the commit replaces the whole table."""
        return self.request.mode is Mode.FULL_REFRESH or self.spec.strategy is Strategy.FULL_REFRESH

    @property
    def previous_watermark(self) -> CursorValue | None:
        """The watermark before this sync."""
        return self.previous.watermark if self.previous else None

    def landed(self, rows: int, highest: CursorValue | None, fingerprint: Fingerprint | None) -> State:
        """The state after this plan has landed, from what its snapshot showed."""
        before = self.previous
        read = [
            value
            for value in (before.max_cursor_read if before and not self.overwrites else None, highest)
            if value is not None
        ]
        whole = self.overwrites or not self.spec.is_incremental
        covered = () if whole or before is None else before.coverage
        state = State(
            app_id=self.ticket.app_id,
            seq=self.ticket.seq,
            batch_id=self.ticket.batch_id,
            terms=self.spec.terms,
            watermark=self.new_watermark,
            max_cursor_read=max(read, default=None),
            settling=self.settled.settling,
            fingerprint=fingerprint,
            identity=self.bound.identity,
            clock=self.bound.clock,
            rows=rows if whole else None,
            coverage=merge((*covered, *self._covered())),
        )
        if self.request.mode is not Mode.BACKFILL or whole:
            return state
        kept = before or replace(state, watermark=None, settling=None, fingerprint=None, clock=None)
        return replace(
            state,
            watermark=kept.watermark,
            settling=kept.settling,
            fingerprint=kept.fingerprint,
            clock=kept.clock,
        )

    def _covered(self) -> tuple[Window, ...]:
        if not self.spec.is_incremental or self.settled.value is None:
            return ()
        return (self.window.clamp_upper(self.settled.value),)


def plan(
    spec: TableSpec, request: Request, state: State | None, ticket: Ticket, observation: Observation
) -> SyncPlan | Nothing:
    """The plan of one sync, or Nothing; stops if the source or the terms are not those that landed."""
    bound, cursor = observation.bound, spec.cursor
    check_identity(spec, request, state, bound)
    check_terms(spec, request, state)
    if cursor is None or not spec.is_incremental:
        return _plan_whole(spec, request, state, ticket, observation)
    # A full refresh starts from nothing: an exchanged source may lie before the old watermark.
    known = None if request.mode is Mode.FULL_REFRESH else state
    settled = settle(spec, cursor, bound, observation.highest, known)
    window = reading(spec, request, state, observation)
    # What is not read yet has not settled, should the highest number have fallen since it was held back.
    settled = replace(settled, value=_at_most(settled.value, window.upper))
    previous = state.watermark if state else None
    # Below `start` nothing is ever asked for, so that a first sync stands there at least.
    stands = known.watermark if known is not None and known.watermark is not None else spec.start
    watermark = previous if request.mode is Mode.BACKFILL else _later(stands, settled.value)
    if request.mode is Mode.SYNC and state is not None:
        idle = replace(
            state,
            watermark=watermark,
            settling=settled.settling,
            fingerprint=observation.narrowed or state.fingerprint,
            identity=bound.identity,
            coverage=merge((*state.coverage, window.clamp_upper(settled.value)))
            if settled.value is not None
            else state.coverage,
        )
        if window.is_empty or not _has_moved(state, window, observation):
            changed = watermark != previous or settled.settling != state.settling or observation.narrowed is not None
            return Nothing(
                "nothing moved",
                settled.guarantee,
                settled.reason,
                settled.value,
                previous,
                idle if changed else None,
                _warnings(spec, known, observation),
            )
    future = highest_reading(cursor, bound, bound.clock) if cursor.type.is_time else None
    return SyncPlan(
        spec=spec,
        request=request,
        ticket=ticket,
        window=window,
        bound=bound,
        settled=settled,
        previous=state,
        new_watermark=watermark,
        fingerprint_lower=_lower(spec, watermark),
        late_below=_late_below(spec, request, state, bound),
        future_above=future,
        warnings=_warnings(spec, known, observation),
    )


def _plan_whole(
    spec: TableSpec, request: Request, state: State | None, ticket: Ticket, observation: Observation
) -> SyncPlan | Nothing:
    bound = observation.bound
    settled = Settled(None, Guarantee.SETTLED, "the whole table is read in one snapshot")
    if (
        request.mode is Mode.SYNC
        and state is not None
        and state.clock is not None
        and bound.clock - state.clock < spec.refresh_every
    ):
        due = state.clock + spec.refresh_every
        return Nothing(
            f"not due before {due:%Y-%m-%d %H:%M}Z",
            settled.guarantee,
            settled.reason,
            None,
            None,
            None,
            _turned(state, bound),
        )
    return SyncPlan(
        spec=spec,
        request=request,
        ticket=ticket,
        window=Window(None, None),
        bound=bound,
        settled=settled,
        previous=state,
        new_watermark=None,
        fingerprint_lower=None,
        late_below=None,
        future_above=None,
        warnings=() if request.mode is Mode.FULL_REFRESH else _turned(state, bound),
    )


def reading(spec: TableSpec, request: Request, state: State | None, observation: Observation) -> Window:
    """The window that a sync of an incremental table would read now; `upper` is open unless something holds rows back."""
    upper = _upper(spec, observation)
    if request.mode is Mode.BACKFILL:
        if request.window is None:
            raise ValueError("a backfill of an incremental table names its window")
        return request.window.clamp_upper(upper)
    lower = spec.start if request.mode is Mode.FULL_REFRESH else _lower(spec, state.watermark if state else None)
    return Window(lower, None).clamp_upper(upper)


def _lower(spec: TableSpec, watermark: CursorValue | None) -> CursorValue | None:
    """`start` says what is never asked for; a watermark that was reset below it goes below it."""
    if watermark is None:
        return spec.start
    moved = watermark.minus(spec.lookback)
    return moved if spec.start is None else max(moved, min(spec.start, watermark))


def narrower(spec: TableSpec, state: State | None) -> CursorValue | None:
    """Where a fingerprint may begin since the watermark has moved past the kept one's; None where it need not be taken anew."""
    kept = state.fingerprint if state else None
    if kept is None or state is None or not spec.is_incremental:
        return None
    lower = _lower(spec, state.watermark)
    return lower if lower is not None and (kept.lower is None or kept.lower < lower) else None


def _upper(spec: TableSpec, observation: Observation) -> CursorValue | None:
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


def _has_moved(state: State, window: Window, observation: Observation) -> bool:
    """Whether the source may show other rows than those that landed. A fingerprint says nothing of rows below where it begins."""
    kept = state.fingerprint
    if kept is None or observation.fingerprint != kept:
        return True
    return kept.lower is not None and (window.lower is None or window.lower < kept.lower)


def _warnings(spec: TableSpec, state: State | None, observation: Observation) -> tuple[str, ...]:
    return _turned(state, observation.bound) + _fallen(spec, state, observation)


def _turned(state: State | None, bound: Bound) -> tuple[str, ...]:
    """A server that was promoted, or recovered to a moment: what it lost of the last transactions, only its people know."""
    kept, found = (state.identity if state else None), bound.identity
    if kept is None or found is None or kept.timeline == found.timeline:
        return ()
    told = (
        f"the source went from timeline {kept.timeline} to {found.timeline}, by a failover or a recovery; should it have lost its last "
        "transactions, rows that had landed of them stay: `incremental-assets check` names them"
    )
    return (told,)


def _fallen(spec: TableSpec, state: State | None, observation: Observation) -> tuple[str, ...]:
    """Numbers that are given out again below the watermark are never read, and nothing but the highest one tells of it."""
    read, highest = (state.max_cursor_read if state else None), observation.highest
    if spec.cursor is None or read is None or highest is None or not highest < read:
        return ()
    told = (
        f"the highest {spec.cursor.column!r} in the source is {highest} where {read} had been read: should rows have been deleted, that is all; "
        f"should the table be another one or count anew, read it again with `incremental-assets reset --select {spec.id}`"
    )
    return (told,)


def _at_most(value: CursorValue | None, limit: CursorValue | None) -> CursorValue | None:
    return value if value is None or limit is None else min(value, limit)


def _later(previous: CursorValue | None, settled: CursorValue | None) -> CursorValue | None:
    """The new watermark: never below the previous one. `settled` never passes the source's clock."""
    return max((value for value in (previous, settled) if value is not None), default=None)


def _late_below(spec: TableSpec, request: Request, state: State | None, bound: Bound) -> CursorValue | None:
    """Up to where an earlier sync had read: its highest row, but not past its clock, and at least its watermark."""
    if request.mode is not Mode.SYNC or state is None or state.clock is None or spec.cursor is None:
        return None
    reached = state.max_cursor_read
    if reached is not None and spec.cursor.type.is_time:
        reached = min(reached, highest_reading(spec.cursor, bound, state.clock))
    return _later(state.watermark, reached)


# --- what stops a sync before it begins ------------------------------------------------------------


def check_identity(spec: TableSpec, request: Request, state: State | None, bound: Bound) -> None:
    """Stop if another database answers, or an older copy of it, unless everything is read again."""
    kept, found = (state.identity if state else None), bound.identity
    if kept is None or found is None or request.mode is Mode.FULL_REFRESH:
        return
    advice = (
        f"nothing was changed; point the configuration back, or accept the new source with "
        f"`incremental-assets sync --select {spec.id} --full-refresh` or `incremental-assets reset --select {spec.id}`"
    )
    if (kept.system, kept.database) != (found.system, found.database):
        raise SourceExchanged(
            f"{spec.id}: another database answers than the one synced so far (system {found.system}, was {kept.system}; "
            f"database {found.database}, was {kept.database}): {advice}"
        )
    if found.position < kept.position:
        raise SourceExchanged(
            f"{spec.id}: the source's log is at {found.position:X}, before the {kept.position:X} of the last sync: it was restored from an older copy; {advice}"
        )


def check_terms(spec: TableSpec, request: Request, state: State | None) -> None:
    """Stop if landed rows were synced under other terms, unless everything is read again."""
    if state is None or state.terms == spec.terms or request.mode is Mode.FULL_REFRESH:
        return
    was, now = state.terms, spec.terms
    changes = [
        f"{name} {before or 'none'} -> {after or 'none'}"
        for name, before, after in (
            ("strategy", str(was.strategy), str(now.strategy)),
            ("cursor", was.cursor, now.cursor),
            ("key", ", ".join(was.key), ", ".join(now.key)),
        )
        if before != after
    ]
    raise TermsChanged(
        f"{spec.id}: what landed was synced on other terms ({'; '.join(changes)}): put them back, or read everything again with "
        f"`incremental-assets sync --select {spec.id} --full-refresh`, or start over with `incremental-assets reset --select {spec.id}`"
    )
