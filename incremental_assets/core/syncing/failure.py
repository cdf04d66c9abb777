"""Syncs that failed before they began: each attempt is a row of the checkpoint table, as those that failed on the way are.

An attempt is a sync that was asked for, by hand or by a run. A look of a sensor is none: a source that is away for a weekend leaves no rows.
"""

from __future__ import annotations

from contextlib import suppress

from incremental_assets.core.errors import IncrementalAssetsError
from incremental_assets.core.planning.report import SyncReport
from incremental_assets.core.ports import Checkpoints, Event, EventKind


def record_failure(report: SyncReport, checkpoints: Checkpoints) -> None:
    """Append the failure. Nothing is recorded of a table that another run is syncing, nor where the checkpoint table does not answer."""
    with suppress(IncrementalAssetsError), checkpoints.lease(report.table, report.run_id) as lease:
        lease.record(Event(report.table, EventKind.FAILED, report.run_id, report=report, detail=report.error or ""))
