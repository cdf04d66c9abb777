"""What is asked of a sync, what the source said, and what was decided: values alone, `planner.py` decides."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from incremental_assets.core.model.cursor import CursorValue
from incremental_assets.core.model.position import UNREAD, Position
from incremental_assets.core.model.state import Fingerprint, PutBack, State
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.window import Window, merge
from incremental_assets.core.planning.last_read import remembered
from incremental_assets.core.planning.settled_bound import Bound, Guarantee, Settled, highest_reading, still_settled


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
    connections: int | None = None
    """At most so many to the source; None: as many as it is configured for."""


@dataclass(frozen=True, slots=True)
class CommitIds:
    """The names under which one sync commits: the target's app id, a sequence never used before, and its batch."""

    app_id: str
    seq: int
    batch_id: str
    load_seq: int | None = None
    """Below `seq`, for the rows of a first load, which may go to the target before their position does; see `core.first_load`."""


@dataclass(frozen=True, slots=True)
class Parts:
    """The partitions and inheritance children in which a table's rows lie, by the source's own numbers."""

    members: tuple[int, ...]
    joined: tuple[int, ...] = ()
    """Those of them that the state did not know."""
    lowest: CursorValue | None = None
    """The smallest cursor in these; None where they are empty."""


@dataclass(frozen=True, slots=True)
class Observation:
    """What the source said of one table, in this order: highest integer, bound, fingerprint over what the next sync would read."""

    bound: Bound
    highest: CursorValue | None = None
    fingerprint: Fingerprint | None = None
    narrowed: Fingerprint | None = None
    """Of what would be read now, where the kept one reaches further down; asked just before it, so that an equal one vouches for it."""
    parts: Parts | None = None
    """Members both before all other questions and after them; None where nobody asked."""
    hides: bool = False
    """Whether rows are hidden by now from the user who asked; asked last."""


@dataclass(frozen=True, slots=True)
class NothingToDo:
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
    commit_ids: CommitIds
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
    members: tuple[int, ...] | None = None
    """What the snapshot must show at least, and its state then knows."""
    zones: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    put_back: PutBack | None = None
    """What the source's clock shows a second time."""

    @property
    def overwrites(self) -> bool:
        """Whether the commit replaces the whole table."""
        return self.request.mode is Mode.FULL_REFRESH or self.spec.traits.overwrites

    @property
    def previous_watermark(self) -> CursorValue | None:
        """The watermark before this sync."""
        return self.previous.position.watermark if self.previous else None

    @property
    def lag(self) -> float | None:
        """Seconds from the new watermark to the source's clock; None where there is none, or where it is no time."""
        cursor, mark = self.spec.cursor, self.new_watermark
        if cursor is None or mark is None or not cursor.type.is_time:
            return None
        now = highest_reading(cursor, self.bound, self.bound.clock)
        return max(0.0, (now.moment() - mark.moment()).total_seconds())

    @property
    def goes_on(self) -> bool:
        """Whether it reads on from the watermark, and neither a window nor everything again."""
        return self.request.mode is Mode.SYNC and not self.overwrites

    @property
    def noticed(self) -> State | None:
        """What is kept before anything is read: should this run come to nothing and the clock be put forward again, no later look would notice."""
        before = self.previous
        if before is None or self.put_back in (None, before.put_back):
            return None
        watermark = still_settled(self.spec, self.bound, before)
        return replace(
            before,
            position=replace(before.position, watermark=watermark),
            coverage=covered_below(before, watermark),
            reading=self.bound.reading,
            put_back=self.put_back,
        )

    def landed(
        self,
        rows: int,
        highest: CursorValue | None,
        fingerprint: Fingerprint | None,
        due: CursorValue | None = None,
        visible: str = "",
    ) -> State:
        """The state after this plan has landed, from what its snapshot showed."""
        before = self.previous
        read = [
            value
            for value in (before.position.max_cursor_read if before and not self.overwrites else None, highest)
            if value is not None
        ]
        whole = self.overwrites or not self.spec.is_incremental
        covered = () if whole or before is None else covered_below(before, self.new_watermark)
        state = State(
            app_id=self.commit_ids.app_id,
            seq=self.commit_ids.seq,
            batch_id=self.commit_ids.batch_id,
            terms=self.spec.terms,
            position=Position(self.new_watermark, max(read, default=None), self.settled.settling, due),
            fingerprint=fingerprint,
            identity=self.bound.identity or (before.identity if before else None),
            clock=self.bound.clock,
            reading=self.bound.reading,
            put_back=self.put_back,
            rows=rows if whole else None,
            coverage=merge((*covered, *self._covered())),
            members=self.members,
            zones=self.zones,
            columns=self._columns(),
            absent=self._absent(),
            last_read=remembered(self, visible),
        )
        if self.request.mode is not Mode.BACKFILL or whole:
            return state
        kept = before or replace(
            state,
            position=UNREAD,
            fingerprint=None,
            clock=None,
            reading=None,
            put_back=None,
            members=None,
            last_read=None,
        )
        return replace(
            state,
            position=replace(kept.position, max_cursor_read=state.position.max_cursor_read),
            fingerprint=kept.fingerprint,
            clock=kept.clock,
            reading=kept.reading,
            put_back=kept.put_back,
            members=kept.members,
            last_read=kept.last_read,
        )

    def _columns(self) -> tuple[tuple[str, str], ...]:
        """Those that only the target still has keep the identity under which they landed."""
        kept = self.previous.columns if self.previous and not self.overwrites else ()
        here = {column.name: column.identity for column in self.spec.columns}
        known = {name: identity for name, identity in here.items() if identity}
        return tuple(({**here, **dict(kept), **known}).items())

    def _absent(self) -> tuple[str, ...]:
        before = self.previous
        if before is None or self.overwrites:
            return ()
        here = {column.name.lower() for column in self.spec.columns}
        names = dict.fromkeys((*before.absent, *dict(before.columns)))
        return tuple(name for name in names if name.lower() not in here)

    def _covered(self) -> tuple[Window, ...]:
        if not self.spec.is_incremental or self.settled.value is None:
            return ()
        return (self.window.clamp_upper(self.settled.value),)


def covered_below(state: State, watermark: CursorValue | None) -> tuple[Window, ...]:
    """What was covered, less what lies above a watermark that was put back."""
    if watermark is None or state.position.watermark is None or state.position.watermark <= watermark:
        return state.coverage
    return tuple(window for each in state.coverage if not (window := each.clamp_upper(watermark)).is_empty)
