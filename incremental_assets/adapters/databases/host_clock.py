"""The clocks of this machine: compared with the source's clock, they reveal that it was put back, even if it has caught up since."""

from __future__ import annotations

import hashlib
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import TypeVar

from incremental_assets.core.model.clock_reading import HostClock

T = TypeVar("T")

_LINUX = sys.platform.startswith("linux")


def with_host_clock(ask: Callable[[], T]) -> tuple[T, HostClock]:
    """What was answered, and our own clocks just before."""
    wall, uptime = time.time(), _uptime()
    answer = ask()
    return answer, HostClock(_boot(), uptime, wall, max(0.0, _uptime() - uptime))


def since(then: HostClock | None) -> timedelta:
    """The time that has passed since these clocks were read, in this very boot; none where they were not."""
    return timedelta(seconds=max(0.0, _uptime() - then.uptime)) if then else timedelta()


def _uptime() -> float:
    """Seconds since the machine started; on Linux with the time that it slept."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if _LINUX else time.monotonic()


@cache
def _boot() -> str:
    """A name for the boot and the time namespace that the uptime belongs to; empty where the system names none. A digest, as it is kept with the table and need not lead to the machine."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        whose = f"{boot}/{Path('/proc/self/ns/time').readlink()}"
    except OSError:
        return ""
    return hashlib.sha256(whose.encode()).hexdigest()[:16]
