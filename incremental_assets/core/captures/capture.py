"""The interface of all captures: how a table knows what changed, decided without touching anything.

A capture sees to three values that nobody else takes apart: the `Position` in a `State`, the `Observation` of a look, the `Reading` in a `SyncPlan`. What follows a reading (lease, intent, stage, one commit, history, landed) does not ask which capture
it is. docs/architecture.md says what a new one takes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol, Self

from incremental_assets.core.model.cursor import CursorValue
from incremental_assets.core.model.deletes import KeysCompared
from incremental_assets.core.model.moment import Moment
from incremental_assets.core.model.position import Position
from incremental_assets.core.model.schema_change import SchemaChange
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import Cursor, TableSpec
from incremental_assets.core.model.window import Window
from incremental_assets.core.planning.plan import CommitIds, NothingToDo, Request, SyncPlan
from incremental_assets.core.planning.report import SyncReport


class Observation(Protocol):
    """The answers of a source to light queries, for one table."""

    @property
    def bound(self) -> Moment:
        """How far the source had settled, whatever the table."""

    @property
    def highest(self) -> CursorValue | None:
        """The highest number of a cursor that counts; None for any other."""

    @property
    def suffices(self) -> bool:
        """Whether a sync some time later may go by it, and need not look itself."""

    def elsewhere(self) -> Self:
        """The same, for another position than that with which it was compared."""


@dataclass(frozen=True, slots=True)
class Read:
    """What a plan has read, and what landing it does to the copy beside its rows."""

    rows: int
    """Rows of the source that it is about; a comparison counts every one."""
    snapshot: object
    """The snapshot, which shows its capture more than its rows."""
    compared: KeysCompared | None = None
    """The comparison of keys, where they were compared in it."""
    changed: tuple[SchemaChange, ...] = ()
    """What landing it changes of the copy's columns."""


class Capture(Protocol):
    """All of it is pure; what it asks of a source are the ports, which get its plans."""

    words: str
    """How a table is brought up to date, for people: `read whole`."""
    gone: str
    """How it is known that rows are gone, for people, where what is read says so; empty where `deletes` of the table does."""
    turn: str
    """What its next sync is called, for people: `refresh`."""
    is_whole: bool
    """Whether each sync is about all rows, and goes on from no position."""
    finds_differing: bool
    """Whether a sync compares source and copy, and reads only what differs, though nobody asks for that."""
    tells_changes: bool
    """Whether the source says which rows have changed behind a position, so that a copy can be compared, and repaired, beside those."""

    def plan(
        self, spec: TableSpec, request: Request, state: State | None, commit_ids: CommitIds, observation: Observation
    ) -> SyncPlan | NothingToDo:
        """What is read now and where it leads; stops if the source is not the one that was read so far."""

    def window(self, spec: TableSpec, request: Request, state: State | None, observation: Observation) -> Window:
        """The rows that the next sync is about, by their cursor."""

    def noticed(self, plan: SyncPlan) -> State | None:
        """What is kept before anything is read, as no later look would notice; None if that is nothing."""

    def accepted(self, plan: SyncPlan, snapshot: object) -> SyncPlan:
        """The plan as of the snapshot that was taken for it; stops if its rows may not be read."""

    def landed(self, plan: SyncPlan, read: Read) -> State:
        """The state once that has landed."""

    def judged(self, plan: SyncPlan, report: SyncReport, state: State) -> tuple[SyncReport, State]:
        """The same, with what only the landed rows tell."""

    def position(self, document: Mapping[str, Any]) -> Position:
        """What `Position.to_json` made of its own, from a state's document."""

    def is_news(self, spec: TableSpec, seen: Observation, found: NothingToDo, state: State | None) -> bool:
        """Whether a table that stands still deserves a row of the checkpoint table."""

    def moved(self, spec: TableSpec, state: State) -> State:
        """The state that goes on with another source that holds the same rows. Raises SelectionError where its position says nothing there."""

    def counted_by(self, spec: TableSpec) -> Cursor | None:
        """The cursor whose values are numbers of rows, so that their ranges can be counted; None where there is none."""

    def next_look(self, spec: TableSpec, state: State | None) -> datetime | None:
        """When a table is due that is looked at in intervals; None for others, and before its first sync."""
