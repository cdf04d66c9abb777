"""Sets of transactions by their global numbers: which a log has, and which were read of it. Each flavour writes them in its own way."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Protocol


class Gtids(Protocol):
    """Grows with each transaction that is read."""

    def add(self, origin: str, number: int) -> None:
        """One more."""

    def has(self, origin: str, number: int) -> bool:
        """Whether it is in it."""

    def covers(self, other: str) -> bool:
        """Whether all that a text names is in it."""

    def skips(self, origin: str, number: int, /) -> bool:
        """Whether a transaction that comes next shows by its number that others before it may be missing."""


@dataclass
class Intervals:
    """MySQL's: of each server that wrote, the numbers from, to. `text`: `uuid:1-5:7,uuid:3`."""

    of: dict[str, list[tuple[int, int]]] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str) -> Intervals:
        """From its text. Raises ValueError for one with tags."""
        found = cls()
        for part in filter(None, (each.strip() for each in text.split(","))):
            origin, *ranges = part.split(":")
            for each in ranges:
                first, _, last = each.partition("-")
                found._join(origin.lower(), int(first), int(last or first))
        return found

    def add(self, origin: str, number: int) -> None:
        """One more."""
        self._join(origin, number, number)

    def has(self, origin: str, number: int) -> bool:
        """Whether it is in it."""
        return self._holds(origin, number, number)

    def covers(self, other: str) -> bool:
        """Whether all that a text names is in it."""
        return all(
            self._holds(origin, *each) for origin, ranges in Intervals.parse(other).of.items() for each in ranges
        )

    def skips(self, _origin: str, _number: int, /) -> bool:
        """Never: they may come in another order, and the server says itself which its log lacks."""
        return False

    def __str__(self) -> str:
        return ",".join(f"{origin}:{':'.join(map(_range, ranges))}" for origin, ranges in sorted(self.of.items()))

    def _holds(self, origin: str, first: int, last: int) -> bool:
        ranges = self.of.get(origin, [])
        at = bisect_right(ranges, (first, 1 << 64)) - 1
        return at >= 0 and ranges[at][1] >= last

    def _join(self, origin: str, first: int, last: int) -> None:
        ranges = self.of.setdefault(origin, [])
        if ranges and ranges[-1][1] + 1 == first:
            ranges[-1] = (ranges[-1][0], last)
            return
        self.of[origin] = _merged([*ranges, (first, last)])


@dataclass
class Domains:
    """MariaDB's: of each domain and server the last number, as they grow. `text`: `0-1-42,1-2-7`."""

    of: dict[str, int] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str) -> Domains:
        """From its text. Raises ValueError."""
        found = cls()
        for part in filter(None, (each.strip() for each in text.split(","))):
            domain, server, number = part.split("-")
            found.add(f"{domain}-{server}", int(number))
        return found

    def add(self, origin: str, number: int) -> None:
        """One more."""
        self.of[origin] = max(number, self.of.get(origin, 0))

    def has(self, origin: str, number: int) -> bool:
        """Whether it is in it."""
        return self.of.get(origin, 0) >= number

    def covers(self, other: str) -> bool:
        """Whether all that a text names is in it."""
        return all(self.has(origin, number) for origin, number in Domains.parse(other).of.items())

    def skips(self, origin: str, number: int, /) -> bool:
        """Within a domain all servers go on from one another's numbers. One that goes back was written by a replica of its own accord, which hides what it has not logged."""
        domain = origin.partition("-")[0]
        last = max((last for each, last in self.of.items() if each.partition("-")[0] == domain), default=0)
        return number != last + 1

    def __str__(self) -> str:
        return ",".join(f"{origin}-{number}" for origin, number in sorted(self.of.items()))


def _range(each: tuple[int, int]) -> str:
    first, last = each
    return str(first) if first == last else f"{first}-{last}"


def _merged(ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if found and first <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(found[-1][1], last))
        else:
            found.append((first, last))
    return found
