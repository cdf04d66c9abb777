"""Where the log of a source stands, for whoever has to look after it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Reader:
    """A table whose changes are kept. `name`: its schema and itself as the source calls them now, None where it has no table of that number."""

    number: int
    name: tuple[str, str] | None
    landed: int
    """Up to where its copy had come when a sync of it asked last; 0 before its load has landed."""
    is_published: bool


@dataclass(frozen=True, slots=True)
class LogStanding:
    """The source's side, and what was read of it here."""

    slot: str
    publication: str
    at: datetime
    """The source's clock."""
    flushed: int
    unread_bytes: int
    """What was written behind what the slot has given up."""
    kept_bytes: int
    """What the source keeps for the slot, from the beginning of the oldest transaction that it may still have to decode."""
    most_bytes: int
    """`max_slot_lag`."""
    left_bytes: int | None
    """What may still be written before the server gives the slot up; None where it sets no limit."""
    holders: tuple[str, ...]
    """What has been open there for the longest time."""
    read_to: int | None
    """Up to where the log is in files here; None before the first look."""
    last_commit_at: datetime | None
    """When the last transaction in these files was committed, by the source's clock."""
    files: int
    file_bytes: int
    readers: tuple[Reader, ...]
    refused: str
    """Why it cannot be read on; empty where it can."""
    session: int | None = None
    """The session of the source by which a process of ours reads it between syncs; None where none does."""
    unkept: str = ""
    """Why no such process could be started, where one was needed a short time ago."""
    sizes: tuple[tuple[int, int], ...] = ()
    """Of a log in files: where each begins, and how many bytes it has; empty where the log's positions are bytes."""

    def bytes_behind(self, position: int) -> int:
        """How much of the log, of all tables, comes behind a position."""
        if not self.sizes:
            return max(0, self.flushed - position)
        return sum(max(0, min(size, begin + size - position)) for begin, size in self.sizes)

    @property
    def late_seconds(self) -> float:
        """Since the last transaction that was read was committed, where more was written behind it."""
        if self.read_to is None or self.last_commit_at is None or self.flushed <= self.read_to:
            return 0.0
        return max(0.0, (self.at - self.last_commit_at).total_seconds())
