"""The staging area, between the source and the lake."""

from __future__ import annotations

from typing import Any, Protocol

from incremental_assets.core.model.batch import Batch
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.planning.plan import SyncPlan
from incremental_assets.core.ports.source import Snapshot


class GoneRows(Protocol):
    """Keys that are gone from the source."""

    @property
    def rows(self) -> int:
        """How many."""

    @property
    def keys(self) -> Any:
        """See `CopyKeys.rows`; None where there are none."""


class Stage(Protocol):
    """The staging area: keeps what was read until it has landed."""

    def write(self, plan: SyncPlan, snapshot: Snapshot, gone: GoneRows | None = None) -> Batch:
        """Write the snapshot's rows durably, and behind them the keys that are gone, and verify them. Raises StageBroken."""

    def discard(self, table: TableId, batch_id: str) -> tuple[str, ...]:
        """Remove a batch, complete or not; does nothing if there is none. What an operator should know where something of it stays, which harms no sync."""
