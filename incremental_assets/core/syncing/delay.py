"""How long a table that failed is left alone before it is tried again by itself."""

from __future__ import annotations

from datetime import timedelta

_LONGEST = timedelta(hours=1)


def delay(every: timedelta, times: int) -> float:
    """Seconds to wait after so many failures before this one."""
    return min(every.total_seconds() * float(2 ** min(times, 20)), _LONGEST.total_seconds())
