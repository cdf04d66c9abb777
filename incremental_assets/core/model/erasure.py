"""Where a person's data can be of one table, and what was found there. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Place(StrEnum):
    """A kind of place, in words."""

    COPY = "files of the copy"
    COPY_LOG = "log of the copy"
    HISTORY = "files of the history"
    HISTORY_LOG = "log of the history"
    FORMER = "files of places where the copy lay before"
    FORMER_LOG = "logs of places where the copy lay before"
    QUARANTINE = "files of the quarantine"
    QUARANTINE_LOG = "log of the quarantine"
    STAGED = "staged batches"
    TOMBSTONES = "keys that a topic has deleted"
    LEDGER = "list of files that have landed"
    SEGMENTS = "segments of the source's log"
    CHECKPOINTS = "checkpoint database"
    DAGSTER = "Dagster's home"
    LOGS = "logs of commands that failed"


class Holds(StrEnum):
    """How a file holds something of a person, in words."""

    ROW = "rows of the key"
    OTHER_ROW = "rows of other keys that name a value"
    DICTIONARY = "a dictionary page"
    STATISTICS = "statistics"
    INDEX = "a column index"
    BLOOM = "a bloom filter"
    TEXT = "text"
    FREED = "freed pages"
    POSITION = "the position of the syncs"
    UNREADABLE = "nothing that could be decoded, so that it is not known"


@dataclass(frozen=True, slots=True, order=True)
class Found:
    """One file, or one table of a database, that holds something."""

    place: Place
    where: str
    how: tuple[Holds, ...]

    @property
    def is_position(self) -> bool:
        """Whether it is how far syncs have come, and nothing else: that stays."""
        return set(self.how) == {Holds.POSITION}


@dataclass(frozen=True, slots=True)
class Examined:
    """What was looked through, and what of a person was found. `looked`: how many files and tables of each place."""

    found: tuple[Found, ...]
    looked: Mapping[Place, int]

    @property
    def left(self) -> tuple[Found, ...]:
        """What an erasure is to take away."""
        return tuple(each for each in self.found if not each.is_position)
