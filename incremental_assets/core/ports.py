"""The five doors to the outside world, and the values that pass through them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from incremental_assets.core.model.compaction import How, Layout
from incremental_assets.core.model.cursor import CursorValue
from incremental_assets.core.model.measure import Comparison, Duplicates, Measure, Outdated
from incremental_assets.core.model.state import Fingerprint, State
from incremental_assets.core.model.table import TableId, TableShape, TableSpec
from incremental_assets.core.model.verified import Verified
from incremental_assets.core.model.window import Window
from incremental_assets.core.observers import Observer
from incremental_assets.core.planning.plan import Observation, SyncPlan, Ticket
from incremental_assets.core.planning.report import RowCounts, SyncReport

# --- the source, asked lightly: no Spark -----------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Look:
    """One table to be observed, with the state whose fingerprint is to be compared."""

    spec: TableSpec
    state: State | None
    """None as well where it is of other terms: its values then belong to another cursor."""

    def __post_init__(self) -> None:
        if self.state is not None and self.state.terms != self.spec.terms:
            object.__setattr__(self, "state", None)


class Probe(Protocol):
    """Light questions to one source. Raises SourceUnreachable, SourceRefused."""

    def catalogue(self) -> tuple[TableShape, ...]:
        """Every table of the configured schemas; of those that this user may not read, the names."""

    def missing_schemas(self, schemas: Sequence[str]) -> tuple[str, ...]:
        """Those of the schemas that the database does not have."""

    def observe(self, looks: Sequence[Look]) -> tuple[Observation, ...]:
        """One observation per look, all under one bound and one connection; see `Observation` for the order of the questions."""

    def lag(self, looks: Sequence[Look]) -> tuple[float, ...]:
        """Per look: seconds, on the source's clock, since the oldest row that has not landed was stamped; 0.0 when all has."""

    def lowest(self, specs: Sequence[TableSpec]) -> tuple[CursorValue | None, ...]:
        """Per incremental table its smallest cursor; None where it has none, or where that takes too long to find."""

    def measure(self, spec: TableSpec, windows: Sequence[Window]) -> tuple[Measure, ...]:
        """Rows and hash of each window, counted by the source in one snapshot."""


# --- the source, read for real ---------------------------------------------------------------------


class Snapshot(Protocol):
    """One snapshot of the source, held open for all parallel reads and for its own numbers."""

    @property
    def rows(self) -> int:
        """Rows of the plan's window that the source counts itself, NULL cursors included where they are read."""

    @property
    def rejected(self) -> int:
        """Of these, rows that the source knows to be unfit for the lake."""

    @property
    def nulls(self) -> int:
        """Rows of the table without a cursor."""

    @property
    def highest(self) -> CursorValue | None:
        """The largest cursor in the window."""

    @property
    def due(self) -> CursorValue | None:
        """The smallest cursor past the source's clock, where such rows go to quarantine."""

    @property
    def visible(self) -> str:
        """Which transactions it shows, in the source's own words; empty where the source does not tell."""

    @property
    def fingerprint(self) -> Fingerprint | None:
        """Of what the next sync would read."""

    @property
    def frame(self) -> Any:
        """The rows, as the stage takes them (a Spark DataFrame, or the fake's list)."""


class Source(Protocol):
    """Reads a plan's window."""

    def snapshot(self, plan: SyncPlan) -> AbstractContextManager[Snapshot]:
        """Open one snapshot, after the plan's bound was taken."""


@dataclass(frozen=True, slots=True)
class KeyRange:
    """The smallest and the largest whole number that a batch has in one column of its key."""

    column: str
    lowest: int
    highest: int


@dataclass(frozen=True, slots=True)
class Batch:
    """Exactly what one snapshot showed, verified against the source's own count."""

    batch_id: str
    rows: int
    digest: str
    """Order-independent hash of all staged rows, to notice a batch that is not whole."""
    lower: CursorValue | None = None
    """The smallest cursor in the batch, None where a row has none: where the overlap with the target begins."""
    rejected: int = 0
    """Rows that cannot land and go to quarantine."""
    duplicates: int = 0
    """Rows beyond the first of a declared key that is not unique."""
    keys: tuple[KeyRange, ...] = ()
    """Of an upsert: outside of them no row of the target is replaced, so that none need be looked at."""
    warnings: tuple[str, ...] = ()
    in_target: bool = False
    """Whether the rows are in the target already, without a position: those of a first load."""

    @property
    def landable(self) -> int:
        """Rows that can land."""
        return self.rows - self.rejected - self.duplicates


class Stage(Protocol):
    """Keeps what was read until it has landed."""

    def write(self, plan: SyncPlan, snapshot: Snapshot) -> Batch:
        """Write the snapshot's rows durably and verify them. Raises StageBroken."""

    def discard(self, table: TableId, batch_id: str) -> None:
        """Remove a batch, whole or half; silent if there is none."""


# --- the lake --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Target:
    """A table of the lake as its log tells it, read without Spark."""

    table_id: str
    app_id: str
    version: int
    seq: int
    """The last sequence committed under `app_id`, -1 before the first."""
    state: State | None
    """The state in our newest commit that carries one."""
    foreign: str = ""
    """The first commit after the version asked about that changed rows and is not ours; empty if there is none."""
    landed: bool = True
    """Whether a batch of ours ever landed: before that it holds no rows, or those of a load that came to nothing."""


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit of ours, found in the log. `state` is what it carries."""

    table_id: str
    version: int
    rows: RowCounts
    state: State | None = None
    warnings: tuple[str, ...] = ()


class Lake(Protocol):
    """One Delta table per source table; every commit of ours carries app id, sequence, batch id and state."""

    def inspect(self, spec: TableSpec, since: int | None) -> Target | None:
        """The target as it is, with foreign commits after version `since` (None: after our newest commit); None if there is no table."""

    def version(self, spec: TableSpec) -> int | None:
        """The target's last version, by a listing of its log: -1 where there is none, None where only a session could list it."""

    def fence(self, spec: TableSpec, ticket: Ticket, state: State | None) -> None:
        """Commit an empty batch under `ticket`, so that a sleeping run's lower sequence can never commit again.

        Makes the table if there is none: the sleeping run may be about to. Without `state` the newest one in the log stays in force.
        """

    def find(self, spec: TableSpec, batch_id: str) -> Commit | None:
        """The commit that landed a batch, if it did."""

    def load(self, plan: SyncPlan, snapshot: Snapshot) -> Batch:
        """Replace all that is in the target by the snapshot's rows, under `load_seq` and without a position, and verify them. Raises StageBroken."""

    def apply(self, plan: SyncPlan, batch: Batch, state: State) -> Commit:
        """Quarantine first, then one commit, then its confirmation from the log. Raises CommitMissing."""

    def measure(self, spec: TableSpec, windows: Sequence[Window]) -> Callable[[], tuple[Measure, ...]]:
        """Rows and hash of each window as the table is now, in the same words as the source's: counted by what is returned, in any thread."""

    def compare(self, spec: TableSpec, windows: Sequence[Window]) -> Comparison:
        """Row by row, both sides, for windows whose measures differ. The lake's version is chosen before the source is read."""

    def outdated(self, spec: TableSpec, windows: Sequence[Window]) -> Outdated:
        """Rows of an upsert whose key has a row in the source that lies in one of the windows and cannot land, so that no other row can have it."""

    def duplicates(self, spec: TableSpec) -> Duplicates:
        """Keys of `spec.key` that the table holds more than once."""

    def rows(self, spec: TableSpec) -> int | None:
        """Rows of the target as its log tells them, without Spark; None if there is no table."""

    def count(self, spec: TableSpec, windows: Sequence[Window]) -> tuple[int, ...]:
        """Rows of the target in each window, every version of an append counted."""

    def layout(self, spec: TableSpec) -> Layout:
        """The files of the target as its log tells them, without Spark; none if there is no table."""

    def compact(self, spec: TableSpec, how: How, run_id: str, state: State) -> int:
        """Put the target's files together, in one commit that carries the state and leaves every row as it is; the version after it."""

    def columns(self, spec: TableSpec) -> tuple[tuple[str, str], ...]:
        """Name and Spark type of the target's columns, without those that a sync adds; empty if there is no table."""


# --- the checkpoint table --------------------------------------------------------------------------


class EventKind(StrEnum):
    """What one row of the checkpoint table records."""

    INTENT = "intent"
    STAGED = "staged"
    LANDED = "landed"
    FAILED = "failed"
    ABANDONED = "abandoned"
    FENCE = "fence"
    IDLE = "idle"
    RESET = "reset"
    REBUILT = "rebuilt"


@dataclass(frozen=True, slots=True)
class Event:
    """One row of the checkpoint table, appended and never edited. `state` is set where the resumable state changed."""

    table: TableId
    kind: EventKind
    run_id: str
    seq: int | None = None
    batch_id: str = ""
    app_id: str = ""
    state: State | None = None
    report: SyncReport | None = None
    target: tuple[str, int] | None = None
    """Table id and version of the target right after it, for LANDED and REBUILT."""
    detail: str = ""


@dataclass(frozen=True, slots=True)
class OpenIntent:
    """A sequence that was announced and never closed. `staged`: its commit may have been on its way."""

    seq: int
    batch_id: str
    staged: bool


@dataclass(frozen=True, slots=True)
class Position:
    """Where one table stands, from its events alone."""

    app_id: str = ""
    last_seq: int = -1
    """The highest sequence ever announced; the next one is above it."""
    state: State | None = None
    target: tuple[str, int] | None = None
    open: OpenIntent | None = None
    last_report: SyncReport | None = None
    """The last finished sync, landed or failed."""
    rebuilt: str = ""
    """How this run has just found it again in the lake, for people; empty where it was remembered."""


class Lease(Protocol):
    """The right to write one table, kept alive by a heartbeat."""

    def record(self, event: Event) -> None:
        """Append one event, only while the lease is ours. What a landing has read again is no longer remembered as drift. Raises LeaseLost."""


class Checkpoints(Protocol):
    """The memory of what has landed."""

    def lease(self, table: TableId, run_id: str) -> AbstractContextManager[Lease]:
        """One writer per table. Raises Busy, naming the owner."""

    def position(self, table: TableId) -> Position:
        """Where the table stands."""

    def positions(self) -> dict[TableId, Position]:
        """Where every table stands, in one round trip."""

    def remember_verified(self, table: TableId, verified: Verified) -> None:
        """Keep how far the copy was found equal to its source."""

    def verified(self) -> dict[TableId, Verified]:
        """What was last kept of every table."""


@dataclass(frozen=True, slots=True)
class Ports:
    """What one sync of one table needs of the outside world."""

    probe: Probe
    source: Source
    stage: Stage
    lake: Lake
    checkpoints: Checkpoints
    observer: Observer = field(default_factory=Observer)
    """Told what happens; by default nobody is."""
