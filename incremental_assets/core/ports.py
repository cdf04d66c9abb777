"""The interfaces to the outside world."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol

from incremental_assets.core.errors import Busy
from incremental_assets.core.model.batch import Batch
from incremental_assets.core.model.compaction import How, Layout
from incremental_assets.core.model.cursor import CursorValue
from incremental_assets.core.model.history import FaultyKeys, HistoryRows, Step
from incremental_assets.core.model.key_parts import KeyParts, KeySpread, KeySum
from incremental_assets.core.model.measure import Comparison, Duplicates, Measure, Outdated
from incremental_assets.core.model.observe_request import ObserveRequest
from incremental_assets.core.model.quarantine import HeldRows
from incremental_assets.core.model.state import Fingerprint, State
from incremental_assets.core.model.table import TableId, TableShape, TableSpec
from incremental_assets.core.model.verified import Verified
from incremental_assets.core.model.window import Window
from incremental_assets.core.observers import Observer
from incremental_assets.core.planning.events import Checkpoint, Event, Unmoved
from incremental_assets.core.planning.plan import CommitIds, Observation, RollBack, SyncPlan
from incremental_assets.core.planning.target import Commit, Target

# --- keys, of both sides ---------------------------------------------------------------------------


class Keys(Protocol):
    """The keys of one table in one snapshot or at one version, by their places on a line; see `core.model.key_parts`."""

    def sums(self, within: KeyParts, shift: int) -> Mapping[int, KeySum]:
        """Keys and hashes by part, of those `within`; a part holds the places that are equal without their last `shift` bits."""

    def texts(self, within: KeyParts) -> frozenset[str]:
        """The canonical text of each key `within`."""


class SourceKeys(Keys, Protocol):
    """Of a snapshot of the source: of every row that it shows, whether a sync reads it or not."""

    @property
    def storage(self) -> tuple[tuple[int, int], ...]:
        """See `KeysCompared`; empty where the source does not tell."""

    def present(self, texts: AbstractSet[str]) -> frozenset[str]:
        """Those of the keys that the snapshot shows, looked for by their texts alone."""


class CopyKeys(Keys, Protocol):
    """Of one version of the copy: of the rows in it that are not marked as gone."""

    def spread(self) -> KeySpread:
        """How many there are, and between which places."""

    def readable(self, text: str) -> str:
        """A key's canonical text as people read it."""

    def frame(self, texts: AbstractSet[str]) -> Any:
        """The key's columns of these keys, as the stage takes them (a Spark DataFrame, or the fake's list)."""


class PlacedRows(Protocol):
    """The rows of some windows that a copy can hold, in one snapshot or at one version, by the places of their keys.

    The place of a row without a key is its hash.
    """

    def spread(self) -> KeySpread:
        """How many there are, and between which places."""

    def sums(self, within: KeyParts, shift: int) -> Mapping[int, KeySum]:
        """Rows and hashes of whole rows by part, of those `within`; of a copy that keeps versions the latest of each key."""

    def hashes(self, within: KeyParts) -> Sequence[tuple[int, int]]:
        """Place and hash of each row `within`; of a copy that keeps versions all of them."""


# --- the source, by light queries: no Spark ----------------------------------------------------------


class Probe(Protocol):
    """Light queries to one source. Raises SourceUnreachable, SourceRefused."""

    def catalogue(self) -> tuple[TableShape, ...]:
        """Every table of the configured schemas; of those that this user may not read, the names."""

    def missing_schemas(self, schemas: Sequence[str]) -> tuple[str, ...]:
        """The configured schemas that the database does not have."""

    def observe(self, looks: Sequence[ObserveRequest]) -> tuple[Observation, ...]:
        """One observation per look, all under one bound and one connection; see `Observation` for the order of the queries."""

    def lag(self, looks: Sequence[ObserveRequest]) -> tuple[float, ...]:
        """Per look, the age of the oldest row that has not landed, in seconds on the source's clock; 0.0 if all have."""

    def lowest(self, specs: Sequence[TableSpec]) -> tuple[CursorValue | None, ...]:
        """The smallest cursor of each incremental table; None if it has none, or if finding it takes too long."""

    def measure(self, spec: TableSpec, windows: Sequence[Window]) -> tuple[Measure, ...]:
        """Rows and hash of each window, counted by the source in one snapshot."""

    def keys(self, spec: TableSpec) -> AbstractContextManager[SourceKeys]:
        """The table's keys, in a snapshot of their own that is held until the block ends."""

    def placed_rows(self, spec: TableSpec, windows: Sequence[Window]) -> AbstractContextManager[PlacedRows | None]:
        """The rows of the windows, in a snapshot of their own that is held until the block ends; None where the source cannot tell."""


# --- the source, read for real ---------------------------------------------------------------------


class Snapshot(Protocol):
    """One snapshot of the source, held open for all parallel reads and for its own numbers."""

    @property
    def rows(self) -> int:
        """Rows of the plan's window, counted by the source, with NULL cursors if they are read."""

    @property
    def rejected(self) -> int:
        """How many of these the source knows to be unfit for the lake."""

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
        """The transactions that it shows, in the source's own format; empty if the source does not say."""

    @property
    def fingerprint(self) -> Fingerprint | None:
        """The fingerprint of what the next sync would read."""

    @property
    def parts(self) -> Any:
        """The rows, as tasks read them side by side; None where they come as a frame alone."""

    @property
    def frame(self) -> Any:
        """The same rows in one (a Spark DataFrame, or the fake's list)."""

    @property
    def keys(self) -> SourceKeys | None:
        """The keys of the whole table, where the plan compares them."""


class Source(Protocol):
    """Reads a plan's window."""

    def snapshot(self, plan: SyncPlan) -> AbstractContextManager[Snapshot]:
        """Open one snapshot, after the plan's bound was taken."""


class GoneRows(Protocol):
    """Keys that are gone from the source."""

    @property
    def rows(self) -> int:
        """How many."""

    @property
    def frame(self) -> Any:
        """See `CopyKeys.frame`; None where there are none."""


class Stage(Protocol):
    """The staging area: keeps what was read until it has landed."""

    def write(self, plan: SyncPlan, snapshot: Snapshot, gone: GoneRows | None = None) -> Batch:
        """Write the snapshot's rows durably, and behind them the keys that are gone, and verify them. Raises StageBroken."""

    def discard(self, table: TableId, batch_id: str) -> None:
        """Remove a batch, complete or not; does nothing if there is none."""


# --- the lake --------------------------------------------------------------------------------------


class LakeReader(Protocol):
    """Queries to the logs of the copies, without Spark."""

    def inspect(self, spec: TableSpec, since: int | None) -> Target | None:
        """The target as it is, with foreign commits after version `since` (None: after our newest commit); None if there is no table."""

    def version(self, spec: TableSpec) -> int | None:
        """The target's last version, by a listing of its log: -1 where there is none, None where only a session could list it."""

    def find(self, spec: TableSpec, batch_id: str) -> Commit | None:
        """The commit that landed a batch, if it did."""

    def rows(self, spec: TableSpec) -> int | None:
        """The number of rows of the target, from its log; None if there is no table."""

    def layout(self, spec: TableSpec) -> Layout:
        """The files of the target, from its log; none if there is no table."""

    def columns(self, spec: TableSpec) -> tuple[tuple[str, str], ...]:
        """Name and Spark type of the target's columns, without those that a sync adds; empty if there is no table."""


class LakeWriter(Protocol):
    """Commits of a sync: each carries app id, sequence, batch id and state."""

    def fence(self, spec: TableSpec, commit_ids: CommitIds, state: State | None) -> None:
        """Commit an empty batch under `commit_ids`, so that a sleeping run's lower sequence can never commit again.

        Makes the table if there is none: the sleeping run may be about to. Without `state` the newest one in the log stays in force.
        """

    def load(self, plan: SyncPlan, snapshot: Snapshot) -> Batch:
        """Replace all that is in the target by the snapshot's rows, under `load_seq` and without a position, and verify them. Raises StageBroken."""

    def apply(self, plan: SyncPlan, batch: Batch, state: State) -> Commit:
        """Quarantine first, then one commit, then its confirmation from the log. Raises CommitMissing."""

    def roll_back(self, spec: TableSpec, back: RollBack, state: State) -> Commit:
        """The rows and columns of an earlier version again, in one commit. Raises Refused where that version is no longer whole."""

    def roll_back_quarantine(self, spec: TableSpec, commit_ids: CommitIds, to_seq: int) -> None:
        """The quarantine as it was after a sequence; does nothing where it is so already."""


class LakeAuditor(Protocol):
    """The rows of a copy, counted and compared with the source."""

    def measure(self, spec: TableSpec, windows: Sequence[Window]) -> Callable[[], tuple[Measure, ...]]:
        """Rows and hash of each window of the current version, in the source's format: returns a function that counts, in any thread."""

    def compare(self, spec: TableSpec, windows: Sequence[Window]) -> Comparison:
        """Row by row, both sides, for windows whose measures differ. The lake's version is chosen before the source is read."""

    def outdated(self, spec: TableSpec, windows: Sequence[Window]) -> Outdated:
        """Rows of an upsert whose key has a row in the source that lies in one of the windows and cannot land, so that no other row can have it."""

    def duplicates(self, spec: TableSpec) -> Duplicates:
        """Keys of `spec.key` that the table holds more than once."""

    def count(self, spec: TableSpec, windows: Sequence[Window]) -> tuple[int, ...]:
        """Rows of the target in each window, every version of an append counted."""


class LakeKeys(Protocol):
    """The rows of a copy by their keys, to find those that are gone or differ."""

    def keys(self, spec: TableSpec) -> CopyKeys | None:
        """The keys of the target as it is now; None where nothing of ours has landed."""

    def placed_rows(self, spec: TableSpec, windows: Sequence[Window]) -> PlacedRows:
        """The rows of the windows in the target as it is now."""


class LakeQuarantine(Protocol):
    """Rows that a table's contract holds in its quarantine."""

    def held(self, spec: TableSpec) -> HeldRows | None:
        """How many, and why; None where only a session could tell."""

    def held_cursors(self, spec: TableSpec) -> tuple[CursorValue, ...] | None:
        """Their cursors, each once; None where none is held."""

    def held_keys(self, spec: TableSpec) -> frozenset[str]:
        """The canonical texts of their keys."""

    def settle_gone(self, spec: TableSpec, keys: AbstractSet[str]) -> None:
        """Say of those with these keys that they are gone from the source."""

    def settle_landed(self, spec: TableSpec, batch_id: str) -> None:
        """Say of those that a batch has overtaken what became of them, where its run died behind its commit."""


class LakeHistorian(Protocol):
    """The versions of a copy's rows, in a table beside it that a commit of its own brings up to the copy."""

    def behind(self, spec: TableSpec) -> Step | None:
        """What its history has still to follow, from the logs alone. Raises TargetChanged where another table, or a history of another kind, is there."""

    def follow(self, spec: TableSpec, step: Step, run_id: str) -> HistoryRows:
        """Follow one step, in one commit. Does nothing where that has been done. Raises SchemaChanged, CommitMissing."""

    def differing_versions(self, spec: TableSpec) -> FaultyKeys | None:
        """Keys whose current version is not the row of the copy at the version that the history shows; None where it shows none."""

    def overlapping_versions(self, spec: TableSpec) -> FaultyKeys | None:
        """Keys of which two versions are valid at one time, or one at none, or none between two; None where there is no history."""


class LakeCompactor(Protocol):
    """Compaction of a copy's files."""

    def compact(self, spec: TableSpec, how: How, run_id: str, state: State) -> int:
        """Compact the target's files in one commit that carries the state and leaves every row as it is; returns its version."""


class Lake(LakeReader, LakeWriter, LakeAuditor, LakeKeys, LakeQuarantine, LakeHistorian, LakeCompactor, Protocol):
    """One Delta table per source table."""


# --- the checkpoint table --------------------------------------------------------------------------


class Lease(Protocol):
    """The right to write one table, kept alive by a heartbeat."""

    def record(self, event: Event) -> None:
        """Append one event, only while the lease is ours. Drift in a window that landed again is forgotten. Raises LeaseLost."""


class Checkpoints(Protocol):
    """The checkpoint table: what has landed."""

    def lease(self, table: TableId, run_id: str) -> AbstractContextManager[Lease]:
        """One writer per table. Raises Busy, naming the owner."""

    def position(self, table: TableId) -> Checkpoint:
        """The position of the table."""

    def positions(self) -> dict[TableId, Checkpoint]:
        """Where every table stands, in one round trip."""

    def position_after(self, table: TableId, run_id: str) -> Checkpoint | None:
        """State and target after the last sync of a run that landed or found nothing to do; None if there is none."""

    def record_idle(self, unmoved: Sequence[Unmoved]) -> dict[TableId, Busy | None]:
        """Append the events of tables that stand still, at one moment and without a lease each.

        Gives those of which nothing was recorded: the error where another run holds the table, None where it has moved on since.
        """

    def remember_verified(self, table: TableId, verified: Verified) -> None:
        """Record up to where the copy was found equal to its source."""

    def verified(self) -> dict[TableId, Verified]:
        """The last such record of every table."""


@dataclass(frozen=True, slots=True)
class Ports:
    """The ports that one sync of one table needs."""

    probe: Probe
    source: Source
    stage: Stage
    lake: Lake
    checkpoints: Checkpoints
    observer: Observer = field(default_factory=Observer)
    """The observer of what happens; by default one that does nothing."""

    @property
    def reader(self) -> LakeReader:
        """The lake, for queries to its logs."""
        return self.lake

    @property
    def writer(self) -> LakeWriter:
        """The lake, for a sync."""
        return self.lake

    @property
    def auditor(self) -> LakeAuditor:
        """The lake, for checks."""
        return self.lake

    @property
    def historian(self) -> LakeHistorian:
        """The lake, for the versions of its rows."""
        return self.lake

    @property
    def by_key(self) -> LakeKeys:
        """The lake, for comparisons by key."""
        return self.lake

    @property
    def quarantine(self) -> LakeQuarantine:
        """The lake, for rows that contracts hold."""
        return self.lake

    @property
    def compactor(self) -> LakeCompactor:
        """The lake, for upkeep."""
        return self.lake
