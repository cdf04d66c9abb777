"""Named points of a sync at which a test brings about a fault: the ports of the product, with a hook before or after a step.

The product itself holds none of this: whoever does not put `at_points` between a sync and its ports pays nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import count
from typing import Any

from incremental_assets.core.model.batch import Batch
from incremental_assets.core.model.compaction import How
from incremental_assets.core.model.history import HistoryRows, Step
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.planning.events import Event, EventKind
from incremental_assets.core.planning.plan import CommitIds, Renaming, RollBack, SyncPlan
from incremental_assets.core.planning.target import Commit
from incremental_assets.core.ports import Checkpoints, GoneRows, Lake, Lease, Ports, Seek, Snapshot, Source, Stage


class Point(StrEnum):
    """Where a sync can be interrupted, in its order."""

    LEASED = "after the lease"
    ANNOUNCED = "after the intent"
    READING = "in the read"
    STAGED = "after the stage"
    RECORDED = "after the staged batch is recorded"
    BEFORE_COMMIT = "before the commit"
    AFTER_COMMIT = "after the commit"
    CLEANED = "after the staged batch is removed"
    LANDED = "after landed"


class Upkeep(StrEnum):
    """Where the maintenance after it can be."""

    BEGUN = "in maintenance, before its commit"
    DONE = "in maintenance, after its commit"


class Beside(StrEnum):
    """Where a sync can be interrupted at the history of its table, which comes after the commit of the copy. `process.py` looks for the files of `WRITTEN`."""

    BEGUN = "before the commit of the history"
    WRITTEN = "while its files are written, before the commit of the history"
    DONE = "after the commit of the history"


class Held(StrEnum):
    """Where it can be in its commit, of a table whose contract holds rows. No port has these points: `process.py` puts them into the adapter."""

    KEPT = "after the quarantine is written, before the commit"
    LANDED = "after the commit, before what was held is resolved"
    RESOLVED = "after what was held is resolved"


Place = Point | Upkeep | Beside | Held
Hook = Callable[[Place, TableId], None]

_AFTER = {EventKind.INTENT: Point.ANNOUNCED, EventKind.STAGED: Point.RECORDED, EventKind.LANDED: Point.LANDED}


def at_points(ports: Ports, hook: Hook) -> Ports:
    """The same ports; `hook` is called at every point that a sync passes."""
    return replace(
        ports,
        source=_Source(ports.source, hook),
        stage=_Stage(ports.stage, hook),
        lake=_Lake(ports.lake, hook),
        checkpoints=_Checkpoints(ports.checkpoints, hook),
    )


def once(point: Place, table: str, fault: Callable[[], None]) -> Hook:
    """The fault at the first passing of this point by the table, and never again."""
    return at_passing(1, point, table, fault)


def at_passing(number: int, point: Place, table: str, fault: Callable[[], None]) -> Hook:
    """Likewise at its passing of this number."""
    passings = count(1)

    def hook(passed: Place, by: TableId) -> None:
        if passed is point and by.name == table and next(passings) == number:
            fault()

    return hook


@dataclass(frozen=True)
class _Wrapped:
    """Everything that has no point goes straight through."""

    inner: Any
    hook: Hook

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


class _Source(_Wrapped):
    inner: Source

    @property
    def differing(self) -> _Source:
        return self

    @contextmanager
    def snapshot(self, plan: SyncPlan) -> Iterator[Snapshot]:
        with self.inner.snapshot(plan) as snapshot:
            self.hook(Point.READING, plan.spec.id)
            yield snapshot

    @contextmanager
    def compared(self, plan: SyncPlan, seek: Seek) -> Iterator[Snapshot]:
        with self.inner.differing.compared(plan, seek) as snapshot:
            self.hook(Point.READING, plan.spec.id)
            yield snapshot


class _Stage(_Wrapped):
    inner: Stage

    def write(self, plan: SyncPlan, snapshot: Snapshot, gone: GoneRows | None = None) -> Batch:
        batch = self.inner.write(plan, snapshot, gone)
        self.hook(Point.STAGED, plan.spec.id)
        return batch

    def discard(self, table: TableId, batch_id: str) -> tuple[str, ...]:
        left = self.inner.discard(table, batch_id)
        self.hook(Point.CLEANED, table)
        return left


class _Lake(_Wrapped):
    inner: Lake

    def load(self, plan: SyncPlan, snapshot: Snapshot) -> Batch:
        batch = self.inner.load(plan, snapshot)
        self.hook(Point.STAGED, plan.spec.id)
        return batch

    def apply(self, plan: SyncPlan, batch: Batch, state: State) -> Commit:
        self.hook(Point.BEFORE_COMMIT, plan.spec.id)
        commit = self.inner.apply(plan, batch, state)
        self.hook(Point.AFTER_COMMIT, plan.spec.id)
        return commit

    def follow(self, spec: TableSpec, step: Step, run_id: str) -> HistoryRows:
        self.hook(Beside.BEGUN, spec.id)
        done = self.inner.follow(spec, step, run_id)
        self.hook(Beside.DONE, spec.id)
        return done

    def rename(self, spec: TableSpec, renaming: Renaming, state: State) -> Commit:
        self.hook(Point.BEFORE_COMMIT, spec.id)
        commit = self.inner.rename(spec, renaming, state)
        self.hook(Point.AFTER_COMMIT, spec.id)
        return commit

    def roll_back(self, spec: TableSpec, back: RollBack, state: State) -> Commit:
        self.hook(Point.BEFORE_COMMIT, spec.id)
        commit = self.inner.roll_back(spec, back, state)
        self.hook(Point.AFTER_COMMIT, spec.id)
        return commit

    def roll_back_quarantine(self, spec: TableSpec, commit_ids: CommitIds, to_seq: int) -> None:
        self.inner.roll_back_quarantine(spec, commit_ids, to_seq)
        self.hook(Point.CLEANED, spec.id)

    def compact(self, spec: TableSpec, how: How, run_id: str, state: State) -> int:
        self.hook(Upkeep.BEGUN, spec.id)
        version = self.inner.compact(spec, how, run_id, state)
        self.hook(Upkeep.DONE, spec.id)
        return version


class _Checkpoints(_Wrapped):
    inner: Checkpoints

    def lease(self, table: TableId, run_id: str, *, even_paused: bool = False) -> AbstractContextManager[Lease]:
        return self._leased(table, run_id, even_paused=even_paused)

    @contextmanager
    def _leased(self, table: TableId, run_id: str, *, even_paused: bool) -> Iterator[Lease]:
        with self.inner.lease(table, run_id, even_paused=even_paused) as lease:
            self.hook(Point.LEASED, table)
            yield _Lease(lease, self.hook)


class _Lease(_Wrapped):
    inner: Lease

    def record(self, event: Event) -> None:
        self.inner.record(event)
        if event.kind in _AFTER:
            self.hook(_AFTER[event.kind], event.table)
