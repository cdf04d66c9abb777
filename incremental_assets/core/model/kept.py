"""What is recorded of how objectives were kept: when a copy was late, and how many syncs ended how."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta


@dataclass(frozen=True, slots=True)
class During:
    """From a moment to another, which is not part of it."""

    begins: datetime
    ends: datetime

    def within(self, begins: datetime, ends: datetime) -> timedelta:
        """How much of it lies between two moments."""
        return max(min(self.ends, ends) - max(self.begins, begins), timedelta())

    def without(self, others: Iterable[During]) -> Iterator[During]:
        """What is left of it once all of these are cut out."""
        left = self.begins
        for other in sorted(others, key=lambda each: each.begins):
            if other.ends <= left or other.begins >= self.ends:
                continue
            if other.begins > left:
                yield During(left, other.begins)
            left = other.ends
        if left < self.ends:
            yield During(left, self.ends)


@dataclass(frozen=True, slots=True)
class Ends:
    """How many syncs ended how."""

    landed: int = 0
    failed: int = 0


@dataclass(frozen=True, slots=True)
class Kept:
    """Of one table, up to `until`, on the clock of the checkpoint database."""

    until: datetime
    since: datetime | None = None
    """From when on it is known when the copy was late; None where no look has begun to record it."""
    late: tuple[During, ...] = ()
    """When it was, less the time for which a person had paused it."""
    ends: Mapping[timedelta, Ends] = field(default_factory=dict)
    """Per window that ends at `until`."""
