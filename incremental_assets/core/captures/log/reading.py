"""What one sync reads: the changes behind a position, or the whole table under a snapshot that the log is joined with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, cast

from incremental_assets.core.captures.database.reading import DatabaseReading
from incremental_assets.core.captures.log.lsn import lsn_text
from incremental_assets.core.captures.log.position import Join
from incremental_assets.core.planning.plan import SyncPlan


@dataclass(frozen=True, slots=True, kw_only=True)
class LogReading(DatabaseReading):
    """The database's own terms are those of the snapshot of a load."""

    begin: int | None
    """Where the changes begin; None: the whole table is loaded."""
    number: int
    server: str
    layout: str
    columns_written: str
    join: Join | None = None
    numbered: bool = False
    moves: bool = False
    """Whether another server is gone on with, as somebody has accepted."""
    untold: str = ""
    """As the position behind it has it."""

    @property
    def is_whole(self) -> bool:
        """Whether the table is loaded."""
        return self.begin is None

    @property
    def comes_once(self) -> bool:
        """The changes behind a position are none of those before it, and the position is that of the copy."""
        return not self.finds_differing

    @property
    def behind(self) -> str:
        """Where the changes begin, as the server writes it; a repair reads rows, and goes on from nowhere."""
        return "" if self.begin is None or self.finds_differing else lsn_text(self.begin)


class LogSnapshot(Protocol):
    """What was read, and how far the copy has come with it."""

    @property
    def end(self) -> int:
        """The position behind it."""

    @property
    def join(self) -> Join | None:
        """The snapshot that still counts from there on."""

    @property
    def goes_on(self) -> bool:
        """Whether more has been read of the log than this batch has."""

    @property
    def strays(self) -> int:
        """How many partitions have changes in it that were none of the table's at a look, before or now."""


def of_log(plan: SyncPlan) -> LogReading:
    """The reading of a plan that the capture by log has made."""
    if not isinstance(plan.reading, LogReading):
        raise TypeError(f"{plan.spec.id} is not read from a log: {type(plan.reading).__name__}")
    return plan.reading


def shown_by_log(snapshot: object) -> LogSnapshot:
    """What a source shows that was asked for a `LogReading`."""
    return cast(LogSnapshot, snapshot)
