"""What a database answers when it is looked at."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Self

from incremental_assets.core.captures.capture import Observation
from incremental_assets.core.captures.database.bound import Bound
from incremental_assets.core.model.cursor import CursorValue
from incremental_assets.core.model.fingerprint import Fingerprint

_NUMBER = 2**32 - 1


@dataclass(frozen=True, slots=True)
class Parts:
    """The partitions and inheritance children that hold a table's rows."""

    members: tuple[int, ...]
    """Each by the source's own number for it, and above the lowest 32 bits by how it came to be one: one that was away is another."""
    joined: tuple[int, ...] = ()
    """Members that the state did not have."""
    lowest: CursorValue | None = None
    """The smallest cursor in these; None if they are empty."""


def numbers(members: Iterable[int]) -> list[int]:
    """The source's own numbers of members."""
    return [member & _NUMBER for member in members]


@dataclass(frozen=True, slots=True)
class DatabaseObservation:
    """The answers of the source for one table, taken in this order: highest integer, bound, fingerprint over what the next sync would read."""

    bound: Bound
    highest: CursorValue | None = None
    fingerprint: Fingerprint | None = None
    narrowed: Fingerprint | None = None
    """The fingerprint of what would be read now, if the kept one starts lower; taken just before it, so that an unchanged kept one validates both."""
    parts: Parts | None = None
    """Members both before all other queries and after them; None if they were not queried."""
    uncommitted: CursorValue | None = None
    """The smallest cursor of a row that is written and not committed, below what would else settle; `-infinity` if that cannot be known."""
    hides: bool = False
    """Whether rows are now hidden from this user; queried last."""
    drawn: int | None = None
    """The number that the table's sequence had drawn last, asked behind `highest`; None where nobody shows it."""

    @property
    def clock(self) -> datetime:
        """When the bound was taken."""
        return self.bound.clock

    @property
    def suffices(self) -> bool:
        """A fingerprint is compared with the one of that later time."""
        return self.fingerprint is not None

    def elsewhere(self) -> Self:
        """A fingerprint that was compared with another position's does not apply."""
        return replace(self, fingerprint=None)


def seen_of(observation: Observation) -> DatabaseObservation:
    """What a database has answered."""
    if not isinstance(observation, DatabaseObservation):
        raise TypeError(f"no database has answered this: {type(observation).__name__}")
    return observation
