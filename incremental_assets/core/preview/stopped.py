"""A table that a look finds unable to go on counts as one whose sync failed: as no run is asked for, no run could say so to those who watch."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping

from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.planning.events import Checkpoint
from incremental_assets.core.planning.plan import Mode
from incremental_assets.core.planning.report import FAILING, SyncReport
from incremental_assets.core.ports import Checkpoints
from incremental_assets.core.preview.pending import Blocked
from incremental_assets.core.strategies import Strategy
from incremental_assets.core.syncing.failure import record_failure


def record_stopped(
    stopped: Iterable[Blocked],
    strategies: Mapping[TableId, Strategy],
    positions: Mapping[TableId, Checkpoint],
    checkpoints: Checkpoints,
) -> None:
    """Once, until a sync ends well: a look every minute would fill the history."""
    run_id = str(uuid.uuid4())
    for each in stopped:
        if each.status in FAILING and not positions.get(each.table, Checkpoint()).is_failing:
            strategy = strategies[each.table]
            record_failure(
                SyncReport(each.table, run_id, strategy, Mode.SYNC, each.status, error=each.sentence), checkpoints
            )
