"""An observer that remembers all it is told."""

from __future__ import annotations

from incremental_assets.core.model.compaction import Compacted, NotCompacted
from incremental_assets.core.model.table import TableId
from incremental_assets.core.model.verdict import Verdict
from incremental_assets.core.observers import Observer
from incremental_assets.core.planning.report import SyncReport


class Recorder(Observer):
    """What came, in its order."""

    def __init__(self) -> None:
        self.phases: list[tuple[TableId, str]] = []
        self.reports: list[SyncReport] = []
        self.verdicts: list[Verdict] = []
        self.compactions: list[Compacted | NotCompacted] = []
        self.retries: list[tuple[TableId, Exception]] = []

    def on_phase(self, table: TableId, phase: str) -> None:
        self.phases.append((table, phase))

    def on_report(self, report: SyncReport) -> None:
        self.reports.append(report)

    def on_verdict(self, verdict: Verdict) -> None:
        self.verdicts.append(verdict)

    def on_compaction(self, done: Compacted | NotCompacted) -> None:
        self.compactions.append(done)

    def on_retry(self, table: TableId, error: Exception) -> None:
        self.retries.append((table, error))
