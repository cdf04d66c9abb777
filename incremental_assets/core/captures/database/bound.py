"""The source's clock and its open transactions, as observed before the snapshot."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from incremental_assets.core.model.clock_reading import ClockReading, HostClock
from incremental_assets.core.model.source_identity import SourceIdentity

GUARD = timedelta(seconds=2)
"""A transaction has its stamp some microseconds before the view of open transactions shows it."""


@dataclass(frozen=True, slots=True)
class Bound:
    """Answers of the source to autocommit statements before the snapshot: the clock, then suspended sessions, then open, then prepared transactions."""

    clock: datetime
    oldest: datetime | None
    """Start of the oldest open transaction, or of a statement that may open more; None if there is neither."""
    holder: str
    """Which session causes `since`, for people: pid, user and application; empty if none does."""
    prepared: str | None
    """A prepared transaction, for people; its stamps may be older than anything that the source shows."""
    blind: str
    """Why some transactions could not be seen; empty if all could."""
    zone: str
    """The database's own time zone, in which zone-less stamps are read unless the cursor names another."""
    identity: SourceIdentity | None
    newest: datetime | None = None
    """Start of the newest open transaction."""
    listed: datetime | None = None
    """The source's clock just after the open transactions were listed: none of them began later, unless it was put back meanwhile."""
    host: HostClock | None = None
    """Our own clocks when `clock` was asked for."""
    replica: bool = False
    uncommitted: bool = False
    """Whether open transactions have changed rows whose stamps may be older than their start; each table is then asked for such rows."""
    unshown: datetime | None = None
    """Since when a session has been suspended that may have taken a stamp without showing it; None if there is none."""
    written: int | None = None
    """The position up to which the source's log had been written when `clock` was asked for; None on a replica."""
    flushed: int | None = None
    """The position up to which it was on disk after that; None on a replica."""
    started: datetime | None = None
    """When the server was started last, for whatever reason; None if that cannot be seen."""
    login_trigger: str = ""
    """An event trigger that runs when a session logs in; empty if there is none."""
    experimental: str = ""
    """Why nothing in this bound is proven: the dialect was never run against a real server; empty for one that was."""
    server: str = ""
    """Which running server has answered, where several may answer behind one address; empty where the source does not tell."""
    zone_is_guess: bool = False
    """Whether `zone` cannot be seen, as this user begins with one of its own."""
    local_times: tuple[LocalTime, ...] = ()
    """Some moments as the source converts them in the zones that its tables are read in."""

    @property
    def since(self) -> datetime | None:
        """Rows may still be stamped from here on: the smaller of `oldest` and `unshown`."""
        return min((each for each in (self.oldest, self.unshown) if each is not None), default=None)

    @property
    def reached(self) -> datetime:
        """No row is stamped below it any more, as far as can be seen."""
        return min(self.clock, self.since or self.clock)

    @property
    def reading(self) -> ClockReading:
        """The clock readings that are stored with a watermark."""
        return ClockReading(self.clock, None if self.blind else self.reached, self.host)


@dataclass(frozen=True, slots=True)
class LocalTime:
    """A moment as local time of a zone, converted by the source."""

    zone: str
    moment: datetime
    wall: datetime
