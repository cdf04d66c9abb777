"""A test waits for what another thread or session does; where that never comes about it fails."""

from __future__ import annotations

import time
from collections.abc import Callable


def until(holds: Callable[[], object]) -> None:
    """Returns when it holds. For at most a minute."""
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline, "it never came about"
        time.sleep(0.005)
