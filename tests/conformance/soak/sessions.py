"""How many sessions the sync has at once, as the server shows them: the budget that the configuration gives is a limit."""

from __future__ import annotations

import threading

from tests.conformance.soak.result import Result
from tests.shop import Shop

CONNECTIONS = 6
"""Of `parallel`, for more tables than that."""
_EVERY = 0.25
_OURS = "SELECT pid FROM pg_stat_activity WHERE usename = 'reader'"


class Sessions:
    """Looks until it is stopped. Sessions of a process that was killed are the server's to end, and do not count."""

    def __init__(self, shop: Shop, result: Result) -> None:
        self._shop, self._result = shop, result
        self._dead: set[int] = set()
        self._counts = threading.Event()

    def begin(self) -> None:
        """A process begins whose sessions count."""
        self._dead = self._now()
        self._counts.set()

    def end(self) -> None:
        """It is about to end."""
        self._counts.clear()

    def watch(self, stop: threading.Event) -> None:
        """Keep the most that there were."""
        while not stop.wait(_EVERY):
            if self._counts.is_set():
                here = len(self._now() - self._dead)
                if self._counts.is_set():
                    self._result.most_sessions = max(self._result.most_sessions, here)

    def _now(self) -> set[int]:
        return {pid for (pid,) in self._shop.rows(_OURS)}
