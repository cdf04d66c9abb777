"""How often one tick looks: Dagster's daemon asks a sensor every five seconds at the most, and `every` may be less than that."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from itertools import count
from typing import Any

ROUND = timedelta(seconds=5)
"""The daemon begins a round of its sensors this often."""
SPARE = timedelta(milliseconds=750)
"""A tick ends so long before the next round, which would pass by one that is not stored yet. Its looks have taken longer on a busy machine, and then it ends sooner."""
SHORTEST = timedelta(seconds=1)
"""Between two looks; an interval of nothing would only be work."""
_WORKERS = 32
"""Threads of a pool for which no number is set; and of a server's at the most, which else has four more than there are cores."""


def looks(every: timedelta, settings: Mapping[str, Any]) -> Generator[None]:
    """One look, and another at each interval until the daemon's next round. `settings`: of the instance's sensors.

    A tick that waits holds one thread of the daemon and one of this server. Where the daemon has no threads for its sensors, another one would wait
    for it; with threads, no more than half of either wait, and who comes when they do looks once.
    """
    begun, interval = time.monotonic(), max(every, SHORTEST).total_seconds()
    yield
    longest, end = time.monotonic() - begun, begun + (ROUND - SPARE).total_seconds()
    with _waiting(at_once(settings)) as may_wait:
        for number in count(1) if may_wait else ():
            begins = max(begun + number * interval, time.monotonic())
            if begins + longest > end:
                return
            time.sleep(max(0.0, begins - time.monotonic()))
            yield
            longest = max(longest, time.monotonic() - begins)


def at_once(settings: Mapping[str, Any]) -> int:
    """How many ticks of this server may wait at the same time."""
    if not settings.get("use_threads"):
        return 0
    of_server = min(_WORKERS, (os.cpu_count() or 1) + 4)
    return min(settings.get("num_workers") or _WORKERS, of_server) // 2


_lock = threading.Lock()
_held = 0


@contextmanager
def _waiting(most: int) -> Iterator[bool]:
    """Whether this tick may wait, as one of so many."""
    global _held  # noqa: PLW0603 - the threads of a server are one set for all its sensors
    with _lock:
        may = _held < most
        _held += may
    try:
        yield may
    finally:
        with _lock:
            _held -= may
