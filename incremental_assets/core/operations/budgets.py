"""How much of the error budgets of a table is left, and whether it burns too fast: the arithmetic of the alerts, from what the checkpoint database has recorded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal

from incremental_assets.core.model.kept import Ends, Kept
from incremental_assets.core.model.objective import Objectives, percent
from incremental_assets.core.operations.burn_rates import MONTH, PAGES, TICKETS, WINDOWS, BurnRate
from incremental_assets.core.operations.rules import Urgency

_LEAST_FAILURES = 2
"""As the floor of the alerts: one of two syncs of an hour is no outage."""


@dataclass(frozen=True, slots=True)
class Budget:
    """Of one objective. None where nothing is recorded yet."""

    slo: str
    objective: str
    """As it is configured."""
    kept: float | None
    """The share that held, of a month, or since it is recorded."""
    left: float | None
    """The share of the budget that is left: 1 where all held, below 0 where more than all of it is used up."""
    rates: Mapping[timedelta, float]
    """How many times as fast as it may the budget burns, per window."""
    burns: Urgency | None
    """What its alert asks for, once it has lasted."""
    since: datetime | None = None
    """From when on it is recorded, where that is not the whole ledger."""

    @property
    def sentence(self) -> str:
        """For people."""
        if self.left is None:
            return f"{self.slo} {self.objective}: nothing is recorded yet"
        left = f"{self.left:.0%} of its budget is left" if self.left > 0 else "its budget is used up"
        speed = max(self.rates.values(), default=0)
        burns = f", and burns up to {speed:.3g} times as fast as it may" if self.burns else ""
        return f"{self.slo} {self.objective}: {left}{burns}"


def budgets(slo: Objectives, kept: Kept) -> tuple[Budget, ...]:
    """Of each objective that a table has."""
    found = []
    if slo.freshness is not None:
        ratios = {window: _late(kept, window) for window in (*WINDOWS, MONTH)}
        of_freshness = _budget("freshness", str(slo.freshness), slo.freshness.share, ratios, lambda _: True)
        found.append(replace(of_freshness, since=kept.since))
    if slo.success is not None:
        ends = {window: kept.ends.get(window, Ends()) for window in (*WINDOWS, MONTH)}
        ratios = {window: _failed(each) for window, each in ends.items()}
        enough = lambda rate: ends[rate.long].failed >= _LEAST_FAILURES  # noqa: E731 - of these ends
        found.append(_budget("success", percent(slo.success), slo.success, ratios, enough))
    return tuple(found)


def _budget(
    slo: str,
    objective: str,
    share: Decimal,
    ratios: Mapping[timedelta, float | None],
    counts: Callable[[BurnRate], bool],
) -> Budget:
    """`ratios`: how much did not hold, per window; None where there was nothing that could have."""
    allowed = float(1 - share)
    rates = {window: ratio / allowed for window in WINDOWS if (ratio := ratios[window]) is not None}

    def burns(rate: BurnRate) -> bool:
        return counts(rate) and min(rates.get(rate.long, 0), rates.get(rate.short, 0)) > rate.factor

    urgency = Urgency.PAGE if any(map(burns, PAGES)) else Urgency.TICKET if any(map(burns, TICKETS)) else None
    month = ratios[MONTH]
    kept, left = (None, None) if month is None else (1 - month, 1 - month / allowed)
    return Budget(slo, objective, kept, left, rates, urgency)


def _late(kept: Kept, window: timedelta) -> float | None:
    if kept.since is None or kept.since >= kept.until:
        return None
    begins = max(kept.since, kept.until - window)
    late = sum((each.within(begins, kept.until) for each in kept.late), timedelta())
    return late / (kept.until - begins)


def _failed(ends: Ends) -> float | None:
    return ends.failed / (ends.failed + ends.landed) if ends.failed + ends.landed else None
