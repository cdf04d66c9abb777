"""Sends in the background, so that nothing waits for a receiver; one that is away is one line in the log."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable
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
        self._waiting: queue.Queue[Sent | None] = queue.Queue(_MOST)
        self._thread = threading.Thread(target=self._run, name=f"sending {what}", daemon=True)
        self._thread.start()

    def put(self, each: Sent) -> None:
        """Send it soon."""
        try:
            self._waiting.put_nowait(each)
        except queue.Full:
            self._failed("too many wait")

    def close(self) -> None:
        """Wait for what has not been sent, for some seconds at the most."""
        try:
            self._waiting.put_nowait(None)
        except queue.Full:
            return
        self._thread.join(_SECONDS_TO_END)

    def _run(self) -> None:
        while (each := self._waiting.get()) is not None:
            try:
                self._send(each)
                self._failing = False
            except Exception as error:  # noqa: BLE001 - whatever a transport raises, the next may arrive
                self._failed(type(error).__name__)

    def _failed(self, why: str) -> None:
        if not self._failing:
            _log.warning("%s could not be sent (%s); syncs go on without it", self._what, why)
        self._failing = True
