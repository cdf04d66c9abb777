"""What a run can promise: one vocabulary for every capture."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from incremental_assets.core.model.duration import format_duration


class Guarantee(StrEnum):
    """What a run can promise about rows that commit late, strongest first."""

    SETTLED = "settled"
    SETTLED_WITHIN = "settled_within"
    """As long as the stamps of an application lag no longer than the configuration declares."""
    AS_DELIVERED = "as_delivered"
    """Complete as far as the log, topic or folder was: what never came to it cannot be seen from here."""
    HOLDBACK = "holdback"
    BEST_EFFORT = "best_effort"


def stated(guarantee: Guarantee | None, within: timedelta | None) -> str:
    """A guarantee for people: `settled within 30s`, `best_effort`; empty where there is none."""
    if guarantee is Guarantee.SETTLED_WITHIN and within is not None:
        return f"settled within {format_duration(within)}"
    return str(guarantee or "")


@dataclass(frozen=True, slots=True)
class Promise:
    """A guarantee with its reason."""

    guarantee: Guarantee
    reason: str
    within: timedelta | None = None
    """How long stamps may lag, of what is settled within that."""
