"""The phases of one sync and their seconds."""

from __future__ import annotations

import time
from dataclasses import replace

from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.observing.observers import Observer
from incremental_assets.core.observing.occurrences import PhaseBegun
from incremental_assets.core.planning.report import SyncReport


class Phases:
    """Plan, read, apply: reported to the observer when they begin, timed until the next one does."""

    def __init__(self, table: TableId, run_id: str, observer: Observer) -> None:
        self._table, self._run_id, self._observer = table, run_id, observer
        self._begun = time.monotonic()
        self._marks: list[tuple[str, float]] = []

    def enter(self, phase: str) -> None:
        """The next phase begins now."""
        self._marks.append((phase, time.monotonic()))
        self._observer.notify(PhaseBegun(self._table, self._run_id, phase))

    @property
    def seconds(self) -> float:
        """The seconds since the sync began."""
        return time.monotonic() - self._begun

    def timed(self, report: SyncReport) -> SyncReport:
        """The report with the seconds so far: of the whole, and of each phase that was entered."""
        now = time.monotonic()
        ends = [begun for _, begun in self._marks[1:]] + [now]
        phases = tuple((phase, end - begun) for (phase, begun), end in zip(self._marks, ends, strict=True))
        return replace(report, seconds=now - self._begun, phases=phases)
