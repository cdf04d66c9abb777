"""Observers of what happens: the terminal's progress, Dagster's pages, later metrics and traces. Each is one file that derives from `Observer`."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from incremental_assets.core.model.compaction import Compacted, NotCompacted
from incremental_assets.core.model.table import TableId
from incremental_assets.core.model.verdict import Verdict
from incremental_assets.core.planning.report import SyncReport

_log = logging.getLogger(__name__)


class Observer:
    """Override the events that you need. Calls come from several threads at once; the caller waits until they return."""

    def on_phase(self, table: TableId, phase: str) -> None:
        """A table enters a phase of its sync (plan, read, apply, landed), or a check of it begins."""

    def on_report(self, report: SyncReport) -> None:
        """A sync has ended, well or not."""

    def on_verdict(self, verdict: Verdict) -> None:
        """A check has its answer."""

    def on_compaction(self, done: Compacted | NotCompacted) -> None:
        """The files of a copy were compacted, or could not be."""

    def on_retry(self, table: TableId, error: Exception) -> None:
        """Work on a table starts again because of this error."""


class Observers(Observer):
    """Notifies each of them. A failure is logged, and stops neither the others nor the sync."""

    def __init__(self, *observers: Observer) -> None:
        self._observers = observers
        self._lock = threading.Lock()

    @contextmanager
    def joined_by(self, observer: Observer) -> Iterator[None]:
        """Notify this observer as well, until the end of the block."""
        with self._lock:
            self._observers = (*self._observers, observer)
        try:
            yield
        finally:
            with self._lock:
                self._observers = tuple(each for each in self._observers if each is not observer)

    def on_phase(self, table: TableId, phase: str) -> None:
        self._notify(lambda each: each.on_phase(table, phase))

    def on_report(self, report: SyncReport) -> None:
        self._notify(lambda each: each.on_report(report))

    def on_verdict(self, verdict: Verdict) -> None:
        self._notify(lambda each: each.on_verdict(verdict))

    def on_compaction(self, done: Compacted | NotCompacted) -> None:
        self._notify(lambda each: each.on_compaction(done))

    def on_retry(self, table: TableId, error: Exception) -> None:
        self._notify(lambda each: each.on_retry(table, error))

    def _notify(self, notify: Callable[[Observer], None]) -> None:
        for each in self._observers:
            try:
                notify(each)
            except Exception:  # noqa: BLE001 - a failing exporter must not delay rows
                _log.exception("%s failed while it was notified; the sync continues", type(each).__name__)
