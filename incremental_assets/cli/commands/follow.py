"""`sync --follow`: whatever has changed is synced, again and again, until the command is interrupted."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from incremental_assets.cli import reports
from incremental_assets.cli.answer import Answer
from incremental_assets.cli.commands.sync import sync_all, with_left_behind
from incremental_assets.cli.opening import configured, opened
from incremental_assets.cli.pace import Pace
from incremental_assets.cli.progress import progress_display
from incremental_assets.cli.selection import Selection, selected, selected_of, with_problems
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.planning.plan import Request
from incremental_assets.core.planning.report import FAILING, Status, SyncReport
from incremental_assets.core.syncing.delay import delay

if TYPE_CHECKING:
    from incremental_assets.resources.runtime import Runtime


def run(config: Path | None, patterns: Sequence[str]) -> Iterator[Answer]:
    """The answer of a sync, then one for each look that found news. Each source is looked at in its own `every`."""
    with opened(configured(config)) as runtime:
        following = _Following(runtime, patterns)
        yield following.first()
        while True:
            time.sleep(following.pause())
            answer = following.next()
            if answer is not None:
                yield answer


@dataclass
class _Following:
    runtime: Runtime
    patterns: Sequence[str]
    _due: dict[str, float] = field(default_factory=dict)
    """When each source is looked at next, by the clock of this process."""
    _waiting: dict[TableId, tuple[int, float]] = field(default_factory=dict)
    """Tables that failed: how often one after the other, and until when they are left alone."""
    _pace: Pace = field(default_factory=lambda: Pace(time.monotonic))
    _told: dict[TableId, tuple[object, ...]] = field(default_factory=dict)

    def first(self) -> Answer:
        """A sync as without `--follow`. Raises SelectionError for a pattern without a match."""
        begun = time.monotonic()
        found = selected(self.runtime, self.patterns)
        run_id, done = self._synced(found, begun)
        for report in done:
            self._told[report.table] = _told_of(report)
        for source in self.runtime.configuration.sources:
            self._due[source.name] = begun + source.every.total_seconds()
        return with_problems(_answer(run_id, done, begun), found)

    def next(self) -> Answer | None:
        """A look at the sources that are due; None where there is no news."""
        begun = time.monotonic()
        due = [each for each in self.runtime.configuration.sources if self._due[each.name] <= begun]
        for source in due:
            self._due[source.name] = begun + source.every.total_seconds()
        due = [each for each in due if each.quiet is None or each.quiet.until(datetime.now(UTC)) is None]
        found = selected_of(self.runtime, self.patterns, due)
        found = found.among({each for each in found.tables if self._waiting.get(each, (0, 0.0))[1] <= begun})
        run_id, done = self._synced(found, begun)
        news = [report for report in done if self._is_news(report)]
        return _answer(run_id, news, begun) if news else None

    def pause(self) -> float:
        """Seconds until a source is due."""
        return max(0.0, min(self._due.values()) - time.monotonic())

    def _synced(self, found: Selection, begun: float) -> tuple[str, Sequence[SyncReport]]:
        run_id = str(uuid.uuid4())
        with progress_display() as display, self.runtime.observer.joined_by(display):
            done = sync_all(self.runtime, found, Request(run_id), display, self._pace)
        for report in done:
            self._wait(report, begun)
        return run_id, with_left_behind(self.runtime, found, done)

    def _wait(self, report: SyncReport, begun: float) -> None:
        times, _ = self._waiting.pop(report.table, (0, 0.0))
        if report.status in FAILING:
            every = self.runtime.configuration.source(report.table.source).every
            self._waiting[report.table] = times + 1, begun + delay(every, times)

    def _is_news(self, report: SyncReport) -> bool:
        before, now = self._told.get(report.table), _told_of(report)
        self._told[report.table] = now
        return report.status is Status.LANDED or now != before


def _told_of(report: SyncReport) -> tuple[object, ...]:
    """What is news once, and again when it is something else; rows that landed are news each time."""
    status = Status.IDLE if report.status is Status.LANDED else report.status
    return status, report.error, report.warnings


def _answer(run_id: str, done: Sequence[SyncReport], begun: float) -> Answer:
    return reports.answer(run_id, done, reports.summary(done), time.monotonic() - begun)
