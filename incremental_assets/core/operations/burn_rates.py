"""The windows and factors by which a burning error budget alerts: the four of the SRE workbook for thirty days."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True)
class BurnRate:
    """Fires while the budget burns more than `factor` times as fast as it may, in the long window and still in the short one."""

    long: timedelta
    short: timedelta
    factor: float


PAGES = (
    BurnRate(timedelta(hours=1), timedelta(minutes=5), 14.4),
    BurnRate(timedelta(hours=6), timedelta(minutes=30), 6),
)
"""2 % of the budget in an hour, or 5 % in six."""
TICKETS = (
    BurnRate(timedelta(days=1), timedelta(hours=2), 3),
    BurnRate(timedelta(days=3), timedelta(hours=6), 1),
)
"""10 % in a day, or in three."""
WINDOWS = sorted({window for each in (*PAGES, *TICKETS) for window in (each.long, each.short)})
MONTH = timedelta(days=30)
"""What a budget is of."""
