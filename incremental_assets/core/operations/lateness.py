"""When a copy was late: from the moments at which it came to be in step, and how old the last of them may be."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from incremental_assets.core.model.kept import During


@dataclass(frozen=True, slots=True)
class Moved:
    """At this moment it was known that the copy had been in step; None: it was put back, and lacks rows from then on."""

    at: datetime
    in_step: datetime | None


def lateness(period: During, in_step: datetime | None, moves: Iterable[Moved], within: timedelta) -> Iterator[During]:
    """The parts of a period in which it was last in step longer ago than `within`. `in_step`: as it was known when the period began."""
    begun = period.begins
    for move in (*moves, Moved(period.ends, in_step)):
        begins = begun if in_step is None else max(begun, in_step + within)
        if begins < move.at:
            yield During(begins, move.at)
        # What a sync read on to may be older than what a look has seen meanwhile.
        known = [each for each in (in_step, move.in_step) if each is not None]
        in_step, begun = None if move.in_step is None else max(known), move.at
