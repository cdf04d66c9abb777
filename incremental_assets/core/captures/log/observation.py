"""What a look at a source's log tells of one table, beside what the database says."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

from incremental_assets.core.captures.capture import Observation
from incremental_assets.core.captures.database.observation import DatabaseObservation
from incremental_assets.core.errors import IncrementalAssetsError


@dataclass(frozen=True, slots=True)
class LogSeen:
    """What the log says of a table at one moment."""

    flushed: int
    """Up to where the source has it on disk."""
    number: int
    """What the source numbers the table by."""
    server: str
    """Whose log it is, and on which of its timelines."""
    always_logged: bool = True
    """Whether the source refuses to stop writing the table to its log for a while."""
    columns_written: str = ""
    """Another one where the catalogue's entry of a column was written anew, whatever it then says."""
    kept_bytes: int = 0
    """How much of it the source keeps for us."""
    is_overdue: bool = False
    """Whether more of it has not been read than the source is to keep."""
    refused: IncrementalAssetsError | None = None
    """Why it cannot be read, or this table's changes by it."""
    behind: IncrementalAssetsError | None = None
    """Why it cannot be gone on with from where it was read to; then a load may begin anew."""
    numbered: bool = False
    """Whether its transactions have numbers by which the log of another server knows them too."""
    moves: bool = False
    """Whether that is another server, whose log has all that was read: it is gone on with once somebody has accepted it."""
    empty: frozenset[int] = frozenset()
    """Of partitions that have come since the last sync, of any table, by the source's numbers, those that have no row: none has come with them."""
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LogObservation(DatabaseObservation):
    """Implements `Observation`."""

    log: LogSeen | None = None
    """None where the source has not been asked for its log."""

    @property
    def suffices(self) -> bool:
        """A later look finds more, and whoever reads goes on to where the log is by then."""
        return True

    def elsewhere(self) -> Self:
        """Nothing in it depends on a position."""
        return self


def kept_by(observations: Iterable[Observation]) -> int | None:
    """How much of its log a source keeps for us, as far as these tell."""
    seen = (each.log for each in observations if isinstance(each, LogObservation))
    return max((each.kept_bytes for each in seen if each is not None), default=None)
