"""The lake, by who uses it: a sync reads and writes, checks audit, maintenance compacts and prunes."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime, timedelta
from typing import Protocol

from incremental_assets.core.model.batch import Batch
from incremental_assets.core.model.compaction import How, Layout
from incremental_assets.core.model.cursor import CursorValue
from incremental_assets.core.model.history import FaultyKeys, HistoryRows, Step
from incremental_assets.core.model.key_parts import KeyParts
from incremental_assets.core.model.measure import Comparison, Counting, Duplicates, Outdated, RowHash
from incremental_assets.core.model.quarantine import HeldRows, UnfitRows
from incremental_assets.core.model.retention import OldFiles
from incremental_assets.core.model.row_difference import RowDifference
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.window import Window
from incremental_assets.core.planning.plan import CommitIds, Renaming, RollBack, SyncPlan
from incremental_assets.core.planning.target import Commit, LastCommit, Target
from incremental_assets.core.ports.keys import CopyKeys, PlacedRows
from incremental_assets.core.ports.source import Snapshot


class LakeReader(Protocol):
    """Queries to the logs of the copies, without Spark."""

    def inspect(self, spec: TableSpec, since: int | None) -> Target | None:
        """The target as it is, with foreign commits after version `since` (None: after our newest commit); None if there is no table."""

    def last_commit(self, spec: TableSpec) -> LastCommit | None:
        """The target's last commit, by a listing of its log and the beginning of one file; None where only a session could list it."""

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

    def rename(self, spec: TableSpec, renaming: Renaming, state: State) -> Commit:
        """Give a column of the target its new name, in one commit that writes no row; one that has it already only takes the state. Raises CommitMissing."""

    def roll_back(self, spec: TableSpec, back: RollBack, state: State) -> Commit:
        """The rows and columns of an earlier version again, in one commit. Raises Refused where that version is no longer whole."""

    def roll_back_quarantine(self, spec: TableSpec, commit_ids: CommitIds, to_seq: int) -> None:
        """The quarantine as it was after a sequence; does nothing where it is so already, or can no longer be restored."""


class LakeAuditor(Protocol):
    """The rows of a copy, counted and compared with the source."""

    def lowest(self, spec: TableSpec) -> CursorValue | None:
        """The lowest cursor of the target's rows, or one below it, from its log; None where that does not tell."""

    def measure(self, spec: TableSpec, windows: Sequence[Window], by: RowHash = RowHash.TEXT) -> Counting:
        """Rows and hash of each window of the current version, by the hash that is asked for, or by TEXT."""

    def compare(self, spec: TableSpec, windows: Sequence[Window], places: KeyParts | None = None) -> Comparison:
        """Row by row, both sides, for windows whose measures differ, or of them the rows alone whose keys lie at some places. The lake's version is chosen before the source is read."""

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

    def readable(self, spec: TableSpec, key: str) -> str:
        """A key's canonical text as people read it."""

    def held_places(self, spec: TableSpec) -> frozenset[int]:
        """Where the keys of the rows lie that its contract holds."""


class LakeRows(Protocol):
    """The rows of a copy beside those of the source, for people."""

    def differing_rows(
        self, spec: TableSpec, windows: Sequence[Window], places: KeyParts | None, most: int
    ) -> tuple[RowDifference, ...]:
        """The first `most` rows of the windows that differ, or of those alone whose keys lie at some places, in the order of the keys; the lake's version is chosen first."""


class LakeQuarantine(Protocol):
    """Rows that wait in a table's quarantine: those that its contract holds, and those that cannot land."""

    def held(self, spec: TableSpec) -> HeldRows | None:
        """Rows that the contract holds, and why; None where only a session could tell."""

    def unfit(self, spec: TableSpec) -> UnfitRows | None:
        """Rows that cannot land, whatever the contract; None where only a session could tell."""

    def held_cursors(self, spec: TableSpec) -> tuple[CursorValue, ...] | None:
        """The cursors of those that it holds, each once; None where it holds none."""

    def waiting_keys(self, spec: TableSpec) -> frozenset[str]:
        """The canonical texts of the keys of both, as far as a quarantine tells them."""

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
    """Compaction of the files of a copy and of its history."""

    def compact(self, spec: TableSpec, how: How, run_id: str, state: State) -> int:
        """Compact the target's files in one commit that carries the state and leaves every row as it is; returns its version."""

    def layout_of_history(self, spec: TableSpec) -> Layout:
        """The files of its history, from its log; none if there is no table."""

    def compact_history(self, spec: TableSpec, how: How, run_id: str, state: State) -> int:
        """The same for its history; `state` is the copy's."""


class LakeRetention(Protocol):
    """What a copy, its history and its quarantine keep longer than they have to."""

    def old_files(self, spec: TableSpec, files: timedelta, now: datetime | None) -> tuple[OldFiles, ...]:
        """Files that no version needs which was current so long ago, or came later; `now` None: by the clock of the place, for which a file is put there."""

    def forget_versions(self, spec: TableSpec, before: datetime, run_id: str, state: State) -> int:
        """Remove versions of the history that no question about this moment, or a later one, needs, in one commit, for whoever holds the lease; how many. Raises LakeRefused, Overtaken."""

    def forget_quarantined(self, spec: TableSpec, before: datetime, run_id: str, state: State) -> int:
        """The same of rows of the quarantine that have waited for nothing since before it."""

    def remove_files(self, spec: TableSpec, found: Sequence[OldFiles]) -> None:
        """Remove them, for whoever holds the lease. Raises LakeRefused."""


class Lake(
    LakeReader,
    LakeWriter,
    LakeAuditor,
    LakeKeys,
    LakeRows,
    LakeQuarantine,
    LakeHistorian,
    LakeCompactor,
    LakeRetention,
    Protocol,
):
    """One Delta table per source table."""
