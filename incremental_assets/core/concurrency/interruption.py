"""Interruption of a process, or of a run in it: work in progress is cancelled, nothing new begins, and no caller waits for long."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
from typing import Any

from incremental_assets.core.errors import Interrupted

GRACE = 3.5
"""Seconds for cancelled work to record its failure and release its lease."""
_AGAIN = 0.25
"""Seconds after which it is cancelled again: between two steps there is nothing to cancel, and the next step may have begun."""

Cancel = Callable[[], object]


class Interruption:
    """Cancels the work in progress. A cancel runs in its own thread, may be called again, and may fail."""

    def __init__(self) -> None:
        self._asked, self._lock = threading.Event(), threading.Lock()
        self._cancels: list[Cancel] = []
        self._lasts = False

    @property
    def asked(self) -> bool:
        """Whether work in progress is to end."""
        return self._asked.is_set()

    def ask(self) -> None:
        """Cancel the work in progress; returns at once."""
        self._asked.set()
        with self._lock:
            cancels = tuple(self._cancels)
        for cancel in cancels:
            threading.Thread(target=_quietly, args=(cancel,), name="cancel", daemon=True).start()

    def ask_for_good(self) -> None:
        """The same for a process that ends: nothing begins any more."""
        self._lasts = True
        self.ask()

    def reset(self) -> None:
        """Withdraw the request: the process continues after all."""
        self._lasts = False
        self._asked.clear()

    def refuse(self, subject: object) -> None:
        """Raises Interrupted if nothing may begin for this table, or source."""
        if self.asked:
            raise Interrupted(subject)

    @contextmanager
    def cancelling(self, cancel: Cancel) -> Iterator[None]:
        """Work inside the block is cancelled by this."""
        self.add(cancel)
        try:
            yield
        finally:
            self.remove(cancel)

    def add(self, cancel: Cancel) -> None:
        """Have an interruption call `cancel`, until `remove`."""
        with self._lock:
            self._cancels.append(cancel)

    def remove(self, cancel: Cancel) -> None:
        """Take back one `add` of this `cancel`; nothing where there is none."""
        with self._lock, suppress(ValueError):
            self._cancels.remove(cancel)

    def see_out(self, begun: Collection[Future[Any]], why: BaseException) -> None:
        """Wait for the end of work that has no caller any more: without a limit, or briefly once it was cancelled.

        `why`: an end that came from outside, in the middle of the wait, cancels it.
        """
        if not isinstance(why, Exception | GeneratorExit):
            self.ask()
        begun = [future for future in begun if not future.done()]
        while begun and not self.asked:
            begun = list(wait(begun, timeout=_AGAIN).not_done)
        deadline = time.monotonic() + GRACE
        while begun and time.monotonic() < deadline:
            self.ask()
            begun = list(wait(begun, timeout=_AGAIN).not_done)

    def go_on(self) -> None:
        """The interrupted run has ended, and its process continues, unless it was interrupted too."""
        if not self._lasts:
            self._asked.clear()


def _quietly(cancel: Cancel) -> None:
    # What it was to cancel may have just ended, with all that belonged to it.
    with suppress(Exception):
        cancel()


this_process = Interruption()
"""A signal is for all of a process, and so is a Spark session."""
