"""The leases of one process, kept alive by one thread however many tables are written at once."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from incremental_assets.core.errors import sentence
from incremental_assets.core.model.table import TableId

log = logging.getLogger(__name__)

Held = tuple[TableId, str]
"""A table and the token of the lease on it."""


class Heartbeats:
    """Calls `beat` for every lease held, every `seconds`. The thread lives only while there is a lease."""

    def __init__(self, beat: Callable[[TableId, str], None], seconds: float) -> None:
        self._beat, self._seconds = beat, seconds
        self._changed = threading.Condition()
        self._held: set[Held] = set()
        self._thread: threading.Thread | None = None

    def add(self, held: Held) -> None:
        """Keep a lease alive from now on."""
        with self._changed:
            self._held.add(held)
            # Not alive also in a forked child, which inherits the object and not the thread.
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name="checkpoint-heartbeats", daemon=True)
                self._thread.start()

    def remove(self, held: Held) -> None:
        """Let a lease go."""
        with self._changed:
            self._held.discard(held)
            self._changed.notify_all()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: not self._held, timeout=self._seconds)
                if not self._held:
                    self._thread = None
                    return
                held = sorted(self._held)
            for table, token in held:
                self._keep(table, token)

    def _keep(self, table: TableId, token: str) -> None:
        try:
            self._beat(table, token)
        except BaseException as error:  # noqa: BLE001 - without this thread every lease of the process would expire
            with self._changed:
                if (table, token) not in self._held:
                    return  # let go while the beat was on its way
            # Not the end yet: the next beat may get through, and if none does, the next record notices.
            log.warning("%s: the heartbeat failed: %s", table, sentence(error))
