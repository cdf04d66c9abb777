"""A test waits for what another thread or session does; where that never comes about it fails."""

from __future__ import annotations

import time
from collections.abc import Callable


def until(holds: Callable[[], object]) -> None:
    """Wait until `holds` is true; fails after a minute."""
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline, "it never came about"
        time.sleep(0.005)
