"""Notifies channels in the background: whoever syncs waits for nothing, and a channel that is down is tried again later."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from incremental_assets.core.observing.observers import Observer
from incremental_assets.core.observing.occurrences import CheckEnded, Occurrence, SourceObserved, SyncEnded

PAUSE = 30.0
"""Seconds between two looks at what there is to say."""
PATIENCE = 10.0
"""Seconds for which the end of a command waits for the last one."""
_log = logging.getLogger(__name__)


class Notifier(Observer):
    """Calls `look` soon after something has ended, and not more often than each `pause` seconds; once more at the end."""

    def __init__(self, look: Callable[[], None], pause: float = PAUSE, patience: float = PATIENCE) -> None:
        self._look, self._pause, self._patience = look, pause, patience
        self._thread: threading.Thread | None = None
        self._news, self._end = threading.Event(), threading.Event()

    def notify(self, occurrence: Occurrence) -> None:
        if isinstance(occurrence, SyncEnded | CheckEnded | SourceObserved):
            self._wake()

    def close(self) -> None:
        """Say what there still is to say, within the patience: of a source that did not answer at all, no sync has ended."""
        self._wake()
        self._end.set()
        if self._thread is not None:
            self._thread.join(self._patience)

    def _wake(self) -> None:
        if self._thread is None or not self._thread.is_alive():
            # In a fork of the process nothing is left of the thread, and its events may be held by it.
            self._news, self._end = threading.Event(), threading.Event()
            self._thread = threading.Thread(target=self._run, name="notifier", daemon=True)
            self._thread.start()
        self._news.set()

    def _run(self) -> None:
        news, end = self._news, self._end
        while news.is_set() or not end.is_set():
            news.wait()
            news.clear()
            try:
                self._look()
            except Exception as error:  # noqa: BLE001 - nobody's sync fails by it
                # Without the traceback, in which a debugger would print addresses.
                _log.warning("nobody could be notified: %s", error)
            end.wait(self._pause)
