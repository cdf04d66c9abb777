"""How late rows come: by the source's own record of commits where it keeps one, and by what syncs have found. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta

from incremental_assets.core.planning.report import SyncReport

_STEPS = tuple(timedelta(seconds=each) for each in (10, 30, 60, 300, 900, 1800, 3600, 7200, 21_600, 43_200, 86_400))


@dataclass(frozen=True, slots=True)
class Lateness:
    """How late the rows that were written last came: seconds from a row's stamp to the commit that showed it."""

    rows: int
    median: float
    nearly_all: float
    """The seconds that 99 in 100 rows stay below."""
    longest: float


@dataclass(frozen=True, slots=True)
class LateRows:
    """What the last syncs of a table have found below what they had read before."""

    syncs: int
    rows: int
    late: int


def late_rows(reports: Iterable[SyncReport]) -> LateRows:
    """The rows of these reports, summed up."""
    landed = [report.rows for report in reports]
    changed = sum(rows.inserted + rows.updated for rows in landed)
    return LateRows(len(landed), changed, sum(rows.late for rows in landed))


def advised(lateness: Lateness) -> timedelta | None:
    """A `lookback` of twice what was seen, as few rows were looked at, in a length that people write; None where that is more than a day.

    Rows with older stamps come by imports: to look through as much with every sync would cost more than to read them once.
    """
    wanted = timedelta(seconds=2 * max(0.0, lateness.longest))
    return next((step for step in _STEPS if wanted <= step), None)
