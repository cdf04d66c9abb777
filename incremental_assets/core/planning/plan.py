"""The request of a sync, the observation of the source, and the plan: values only, `planner.py` decides."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from incremental_assets.core.model.clock_reading import PutBack
from incremental_assets.core.model.cursor import CursorValue
from incremental_assets.core.model.deletes import IGNORED
from incremental_assets.core.model.fingerprint import Fingerprint
from incremental_assets.core.model.guarantee import Guarantee
from incremental_assets.core.model.key_parts import KeyParts
from incremental_assets.core.model.quarantine import Resolution
from incremental_assets.core.model.rename import Rename
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import NullPolicy, TableSpec
from incremental_assets.core.model.window import Window
from incremental_assets.core.planning.bound import Bound
from incremental_assets.core.planning.local_readings import highest_reading
from incremental_assets.core.planning.settled_bound import Settled, still_settled


class Mode(StrEnum):
    """Why a sync runs: go on from the watermark, read a window again, read again what differs in it, what a contract holds of it, new columns of it, or everything again.

    A rollback reads nothing: it takes the copy back to what an earlier run left.
    """

    SYNC = "sync"
    BACKFILL = "backfill"
    REPAIR = "repair"
    REPLAY = "replay"
    FILL = "fill"
    FULL_REFRESH = "full_refresh"
    ROLLBACK = "rollback"

    @property
    def reads_again(self) -> bool:
        """Whether it reads in a window that syncs have read, so that the watermark stays."""
        return self in (Mode.BACKFILL, Mode.REPAIR, Mode.REPLAY, Mode.FILL)


@dataclass(frozen=True, slots=True)
class Request:
    """The request to sync one table. `window` is set where a window is read again."""

    run_id: str
    mode: Mode = Mode.SYNC
    window: Window | None = None
    allow_shrink: bool = False
    looks_now: bool = False
    """Whether tables that are read or compared at intervals are looked at before it is time."""
    connections: int | None = None
    """The most connections to the source; None: as configured."""
    resolves: Resolution = Resolution.SUPERSEDED
    """What becomes of a row that is held, once a later version of it is read."""
    places: KeyParts | None = None
    """The places of a repair: the window's rows with keys at these are read; None: all of its rows."""


@dataclass(frozen=True, slots=True)
class CommitIds:
    """The names under which one sync commits: the target's app id, a sequence never used before, and its batch."""

    app_id: str
    seq: int
    batch_id: str
    load_seq: int | None = None
    """The sequence below `seq` for the rows of a first load, which may go to the target before their position does; see `core.landing.first_load`."""


@dataclass(frozen=True, slots=True)
class RollBack:
    """The way back: under which names and by which run, to which version of the copy, and which sequence had left that."""

    commit_ids: CommitIds
    run_id: str
    version: int
    seq: int


@dataclass(frozen=True, slots=True)
class Renaming:
    """Renames as one commit: under which names, and by which run."""

    commit_ids: CommitIds
    run_id: str
    renames: tuple[Rename, ...]


@dataclass(frozen=True, slots=True)
class Parts:
    """The partitions and inheritance children that hold a table's rows, by the source's own numbers."""

    members: tuple[int, ...]
    joined: tuple[int, ...] = ()
    """Members that the state did not have."""
    lowest: CursorValue | None = None
    """The smallest cursor in these; None if they are empty."""


@dataclass(frozen=True, slots=True)
class Observation:
    """The answers of the source for one table, taken in this order: highest integer, bound, fingerprint over what the next sync would read."""

    bound: Bound
    highest: CursorValue | None = None
    fingerprint: Fingerprint | None = None
    narrowed: Fingerprint | None = None
    """The fingerprint of what would be read now, if the kept one starts lower; taken just before it, so that an unchanged kept one validates both."""
    parts: Parts | None = None
    """Members both before all other queries and after them; None if they were not queried."""
    uncommitted: CursorValue | None = None
    """The smallest cursor of a row that is written and not committed, below what would else settle; `-infinity` if that cannot be known."""
    hides: bool = False
    """Whether rows are now hidden from this user; queried last."""


@dataclass(frozen=True, slots=True)
class NothingToDo:
    """Nothing to read. `state` is set if the watermark moved nevertheless."""

    reason: str
    guarantee: Guarantee
    guarantee_reason: str
    settled: CursorValue | None
    previous_watermark: CursorValue | None
    state: State | None = None
    warnings: tuple[str, ...] = ()
    renames: tuple[Rename, ...] = ()
    """Columns of the copy that are to have other names first."""
    next_look: datetime | None = None
    """When the table is looked at again, where nobody looked at it now; on the source's clock."""
    within: timedelta | None = None
    """How long stamps may lag, of what is settled within that."""
    deletes_due: datetime | None = None
    """When deletes are looked for again, where nobody looked for them now."""


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
    """Rows below this that land for the first time were committed late: an earlier sync had read that far."""
    future_above: CursorValue | None
    """Stamps at or above this are past the source's clock; None for integers and for tables without a cursor."""
    waited: timedelta = timedelta()
    """How long after that clock the snapshot had been taken."""
    members: tuple[int, ...] | None = None
    """The members that the snapshot must show, and that the new state records."""
    zones: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    put_back: PutBack | None = None
    """The time that the source's clock shows a second time."""
    compares_keys: bool = False
    """Whether keys of the copy are looked for in the snapshot, to find those that are gone."""
    renames: tuple[Rename, ...] = ()
    """Columns of the copy that are to have other names first; the plan is made as if they had."""
    compares_rows: bool = False
    """Whether the snapshot is compared with the copy, and only what differs is read of it."""
    doubtful_stamps: str = ""
    """Why the stamps are not known for the source's own; empty if they are, or are declared."""

    @property
    def overwrites(self) -> bool:
        """Whether the commit replaces the whole table."""
        return self.request.mode is Mode.FULL_REFRESH or self.spec.traits.overwrites

    @property
    def told_above(self) -> CursorValue | None:
        """Stamps at or above this are warned of: beside a busy writer the snapshot shows some that were true and yet past the clock before it."""
        if self.future_above is None or self.spec.cursor is None or not self.waited:
            return self.future_above
        return highest_reading(self.spec.cursor, self.bound, self.bound.clock + self.waited)

    def at(self, places: KeyParts | None) -> SyncPlan:
        """The same, of the rows with keys at these places alone; None: of all."""
        return replace(self, request=replace(self.request, places=places))

    @property
    def compared_windows(self) -> tuple[Window, ...]:
        """The rows that are compared: those of the window, or all where some have no cursor, which lie in no other."""
        cursor = self.spec.cursor
        if cursor is None or not self.spec.is_incremental or cursor.nulls is NullPolicy.ALWAYS:
            return (Window(None, None),)
        return (self.window,)

    @property
    def of_new_columns(self) -> SyncPlan | None:
        """The same read, of key, cursor and new columns alone; None where whole rows are read.

        A contract is about whole rows, and of a key that is only declared the row to land is chosen by all of its columns.
        """
        spec, unfilled = self.spec, self.previous.unfilled if self.previous else None
        if self.request.mode is not Mode.FILL or unfilled is None or spec.contract is not None or spec.trusts_key:
            return None
        cursor = (spec.cursor.column, spec.cursor.fallback) if spec.cursor else ()
        read = {name.lower() for name in (*spec.key, *cursor, *unfilled.columns) if name}
        shape = spec.shape.without([name for name in spec.shape.names if name.lower() not in read])
        return replace(self, spec=replace(spec, shape=shape, deletes=IGNORED))

    @property
    def fingerprint_window(self) -> Window | None:
        """What the next sync would read of this snapshot; a backfill leaves the fingerprint of the last sync as it is."""
        if not self.spec.is_incremental or self.request.mode.reads_again:
            return None
        return Window(self.fingerprint_lower, None).clamp_upper(self.window.upper)

    @property
    def previous_watermark(self) -> CursorValue | None:
        """The watermark before this sync."""
        return self.previous.position.watermark if self.previous else None

    @property
    def lag(self) -> float | None:
        """Seconds from the new watermark to the source's clock; None without a watermark, or if it is not a time."""
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


def covered_below(state: State, watermark: CursorValue | None) -> tuple[Window, ...]:
    """What was covered, less what lies above a watermark that was put back."""
    if watermark is None or state.position.watermark is None or state.position.watermark <= watermark:
        return state.coverage
    return tuple(window for each in state.coverage if not (window := each.clamp_upper(watermark)).is_empty)
