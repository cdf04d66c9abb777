"""What somebody is notified of: an incident begins, lasts, and is over."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from incremental_assets.core.model.table_id import TableId


class About(StrEnum):
    """What an incident is about."""

    FAILURE = "failure"
    """The last sync of a table failed or was refused."""
    DRIFT = "drift"
    """A copy differs from its source."""
    QUARANTINE = "quarantine"
    """Rows went to quarantine within an hour."""
    SCHEMA_CHANGE = "schema_change"
    """Columns of a copy were changed. There is nothing that would be over."""
    SOURCE_DOWN = "source_down"
    """A source has not answered for five minutes."""
    STALLED = "stalled"
    """Nothing has landed for as long as the channel says."""


DEFAULT_ABOUT = tuple(each for each in About if each is not About.STALLED)
"""At a table at which nothing happens nothing lands: somebody has to say for how long that is in order."""


@dataclass(frozen=True, slots=True)
class Incident:
    """`table` None: the whole source."""

    about: About
    source: str
    table: TableId | None
    sentence: str
    """For people. No key, value or error text: it leaves the house."""
    mark: str = ""
    """Tells one from another of the same table, where each is of its own."""


@dataclass(frozen=True, slots=True)
class News:
    """What there is to say to one channel."""

    begun: tuple[Incident, ...] = ()
    over: tuple[Incident, ...] = ()
    """Of those that it was notified of."""

    def __bool__(self) -> bool:
        return bool(self.begun or self.over)
