"""Cleans up after a failed sync: records the reason in the checkpoint table, and removes staged rows.

Only requested syncs are recorded, not looks of a sensor: a source that is down for a weekend adds no rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace

from incremental_assets.core.concurrency.interruption import this_process
from incremental_assets.core.errors import IncrementalAssetsError, Interrupted, sentence_of
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.planning.events import Event, EventKind
from incremental_assets.core.planning.plan import Request, SyncPlan
from incremental_assets.core.planning.report import SyncReport
from incremental_assets.core.ports import Checkpoints, Lease, Stage
from incremental_assets.core.syncing.phases import Phases


class Announcing:
    """Implements `core.ports.Lease` over another one, and knows what the sync has announced."""

    def __init__(self, lease: Lease) -> None:
        self._lease = lease
        self.intent: Event | None = None

    def record(self, event: Event) -> None:
        """Append one event."""
        self._lease.record(event)
        if event.kind is EventKind.INTENT:
            self.intent = event


@contextmanager
def recorded_on_failure(spec: TableSpec, request: Request, lease: Lease, phases: Phases) -> Iterator[Lease]:
    """Record why the block failed, with the sequence that it had announced, and raise it again, as Interrupted if this process is interrupted."""
    announcing = Announcing(lease)
    try:
        yield announcing
    except BaseException as met:
        # A cancelled operation may raise anything.
        error = Interrupted(spec.id) if this_process.asked else met
        report = SyncReport.failed(spec, request, error, phases.seconds)
        # A staged intent stays open: its commit may be on its way, and the next run checks.
        with suppress(IncrementalAssetsError):
            lease.record(_failed(announcing.intent, report, sentence_of(spec.id, error)))
        if error is met:
            raise
        raise error from None


@contextmanager
def discarded_on_failure(plan: SyncPlan, stage: Stage, lease: Lease) -> Iterator[None]:
    """Remove what the block staged if it fails, and close its intent: nothing of it will land."""
    try:
        yield
    except BaseException:
        # The next run removes and closes what is left; the error that matters is the first one.
        with suppress(Exception):
            stage.discard(plan.spec.id, plan.commit_ids.batch_id)
            lease.record(_abandoned(plan))
        raise


def _failed(intent: Event | None, report: SyncReport, detail: str) -> Event:
    failed = Event(report.table, EventKind.FAILED, report.run_id, report=report, detail=detail)
    return failed if intent is None else replace(failed, seq=intent.seq, batch_id=intent.batch_id, app_id=intent.app_id)


def _abandoned(plan: SyncPlan) -> Event:
    names = plan.commit_ids
    return Event(
        plan.spec.id,
        EventKind.ABANDONED,
        plan.request.run_id,
        names.seq,
        names.batch_id,
        names.app_id,
        detail="its run failed before it could land",
    )


def record_failure(report: SyncReport, checkpoints: Checkpoints) -> None:
    """Append a failure from before the sync began; not if another run is syncing the table, or if the checkpoint table does not answer."""
    with suppress(IncrementalAssetsError), checkpoints.lease(report.table, report.run_id) as lease:
        lease.record(Event(report.table, EventKind.FAILED, report.run_id, report=report, detail=report.error or ""))
