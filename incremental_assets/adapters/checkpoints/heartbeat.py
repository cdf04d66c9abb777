"""The leases of one process, kept alive by one thread however many tables are written at once."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Sequence

from incremental_assets.core.errors import LeaseLost, sentence
from incremental_assets.core.model.table_id import TableId

log = logging.getLogger(__name__)

Held = tuple[TableId, str]
"""A table and the token of the lease on it."""


class Heartbeats:
    """Calls `beat` with all leases that are held, every `seconds`; `beat` returns those that are lost. The thread lives only while there is a lease."""

    def __init__(self, beat: Callable[[Sequence[Held]], Collection[Held]], seconds: float) -> None:
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
            self._keep(held)

    def _keep(self, held: Sequence[Held]) -> None:
        met: dict[Held, BaseException]
        try:
            met = {(table, token): LeaseLost(table) for table, token in self._beat(held)}
        except BaseException as error:  # noqa: BLE001 - without this thread every lease of the process would expire
            met = dict.fromkeys(held, error)
        with self._changed:
            # Not of those that were let go while the beat was on its way.
            failed = {table: why for (table, token), why in met.items() if (table, token) in self._held}
        for table, why in failed.items():
            # Not the end yet: the next beat may get through, and if none does, the next record notices.
            log.warning("%s: the heartbeat failed: %s", table, sentence(why))
