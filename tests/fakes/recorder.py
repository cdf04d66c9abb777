"""An observer that remembers all it is told."""

from __future__ import annotations

from incremental_assets.core.model.compaction import Compacted, NotCompacted
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.model.verdict import Verdict
from incremental_assets.core.observing.observers import Observer
from incremental_assets.core.observing.occurrences import (
    CheckBegun,
    CheckEnded,
    CompactionEnded,
    Occurrence,
    PhaseBegun,
    Retried,
    SyncEnded,
)
from incremental_assets.core.planning.report import SyncReport


class Recorder(Observer):
    """What came, in its order."""

    def __init__(self) -> None:
        self.all: list[Occurrence] = []

    def notify(self, occurrence: Occurrence) -> None:
        self.all.append(occurrence)

    @property
    def phases(self) -> list[tuple[TableId, str]]:
        return [(each.table, each.phase) for each in self.all if isinstance(each, PhaseBegun)]

    @property
    def checks(self) -> list[tuple[TableId, str]]:
        return [(each.table, each.check) for each in self.all if isinstance(each, CheckBegun)]

    @property
    def reports(self) -> list[SyncReport]:
        return [each.report for each in self.all if isinstance(each, SyncEnded)]

    @property
    def verdicts(self) -> list[Verdict]:
        return [each.verdict for each in self.all if isinstance(each, CheckEnded)]

    @property
    def compactions(self) -> list[Compacted | NotCompacted]:
        return [each.done for each in self.all if isinstance(each, CompactionEnded)]

    @property
    def retries(self) -> list[tuple[TableId, Exception]]:
        return [(each.table, each.error) for each in self.all if isinstance(each, Retried)]
