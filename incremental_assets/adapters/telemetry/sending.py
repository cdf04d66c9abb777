"""Sends in the background, so that nothing waits for a receiver; one that is away is one line in the log."""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Generic, TypeVar

_log = logging.getLogger(__name__)
_MOST = 10_000
"""How many wait at once: a receiver that is away for a night must not fill the memory."""
_SECONDS_TO_END = 5
"""How long the end of a process waits for what has not been sent: none of it is a reason to hold a run."""
Sent = TypeVar("Sent")


class Sending(Generic[Sent]):
    """Calls `send` in one thread, in order. A failure is logged once, until something arrives again; what it was about is lost."""

    def __init__(self, send: Callable[[Sent], object], what: str) -> None:
        self._send, self._what, self._failing = send, what, False
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None
        self._waiting: queue.Queue[Sent | None] = queue.Queue(_MOST)

    def put(self, each: Sent) -> None:
        """Send it soon."""
        with self._starting:
            if self._thread is None or not self._thread.is_alive():
                # In a fork of the process nothing is left of the thread, and its queue may be held by it.
                self._waiting = queue.Queue(_MOST)
                self._thread = threading.Thread(
                    target=self._run, args=(self._waiting,), name=f"sending {self._what}", daemon=True
                )
                self._thread.start()
        try:
            self._waiting.put_nowait(each)
        except queue.Full:
            self._failed("too many wait")

    def close(self) -> None:
        """Wait for what has not been sent, for some seconds at the most."""
        if self._thread is None or not self._thread.is_alive():
            return
        until = time.monotonic() + _SECONDS_TO_END
        with suppress(queue.Full):
            self._waiting.put(None, timeout=_SECONDS_TO_END)
        self._thread.join(max(0.0, until - time.monotonic()))

    def _run(self, waiting: queue.Queue[Sent | None]) -> None:
        while (each := waiting.get()) is not None:
            try:
                self._send(each)
                self._failing = False
            except Exception as error:  # noqa: BLE001 - whatever a transport raises, the next may arrive
                self._failed(type(error).__name__)

    def _failed(self, why: str) -> None:
        if not self._failing:
            _log.warning("%s could not be sent (%s); syncs go on without it", self._what, why)
        self._failing = True
