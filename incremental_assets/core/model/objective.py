"""Service level objectives of a table: how often its copy has to be in step, and how often its syncs have to succeed."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal

from incremental_assets.core.model.duration import PATTERN, format_duration, parse_duration

_SHARE = r"[0-9]{1,2}(\.[0-9]{1,6})?%"
SHARE_PATTERN = f"^{_SHARE}$"
WITHIN_PATTERN = f"^{_SHARE} within {PATTERN}$"
_HOW_SHARE = "write a share of the whole like 99.9%, of more than nothing and less than 100%"


@dataclass(frozen=True, slots=True)
class Within:
    """In so much of all minutes the copy is in step as of so long ago at the most."""

    share: Decimal
    within: timedelta

    @classmethod
    def parse(cls, text: str) -> Within:
        """`95% within 5m`; ValueError says how it is written."""
        share, _, within = text.strip().partition(" within ")
        if not within:
            raise ValueError("write a share of all minutes and an age, like 95% within 5m")
        found = parse_duration(within)
        if not found:
            raise ValueError("write an age longer than nothing, like 95% within 5m")
        return cls(parse_share(share), found)

    def __str__(self) -> str:
        return f"{percent(self.share)} within {format_duration(self.within)}"


@dataclass(frozen=True, slots=True)
class Objectives:
    """Of one table; None: there is none."""

    freshness: Within | None = None
    success: Decimal | None = None
    """The part of all syncs that land or fail which land."""


NO_OBJECTIVES = Objectives()


def parse_share(text: str) -> Decimal:
    """`99.9%` -> 0.999; ValueError says how it is written."""
    if not re.fullmatch(_SHARE, text.strip(), re.ASCII):
        raise ValueError(_HOW_SHARE)
    share = Decimal(text.strip().removesuffix("%")) / 100
    if not share:
        raise ValueError(_HOW_SHARE)
    return share


def percent(share: Decimal) -> str:
    """0.999 -> `99.9%`."""
    return f"{(share * 100).normalize():f}%"
