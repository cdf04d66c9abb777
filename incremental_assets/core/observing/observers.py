"""Observers of what happens: the terminal's progress, Dagster's pages, traces. Each is one file that derives from `Observer`."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from incremental_assets.core.observing.occurrences import Occurrence

_log = logging.getLogger(__name__)


class Observer:
    """Match the kinds that you need, and ignore others: there may be more of them one day. Calls come from several threads at once; the caller waits until they return."""

    def notify(self, occurrence: Occurrence) -> None:
        """This has happened just now."""

    def close(self) -> None:
        """Nothing happens any more; send what waits."""


class Observers(Observer):
    """Notifies each of them. A failure is logged, and stops neither the others nor the sync."""

    def __init__(self, *observers: Observer) -> None:
        self.members = observers
        self._lock = threading.Lock()

    def join(self, observer: Observer) -> None:
        """Notify this observer as well, until the end."""
        with self._lock:
            self.members = (*self.members, observer)

    @contextmanager
    def joined_by(self, observer: Observer) -> Iterator[None]:
        """Notify this observer as well, until the end of the block."""
        self.join(observer)
        try:
            yield
        finally:
            with self._lock:
                self.members = tuple(each for each in self.members if each is not observer)

    def notify(self, occurrence: Occurrence) -> None:
        self._each(lambda observer: observer.notify(occurrence))

    def close(self) -> None:
        self._each(lambda observer: observer.close())

    def _each(self, call: Callable[[Observer], None]) -> None:
        for each in self.members:
            try:
                call(each)
            except Exception:  # noqa: BLE001 - a failing exporter must not delay rows
                _log.exception("%s failed while it was notified; the sync continues", type(each).__name__)
