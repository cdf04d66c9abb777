"""What is kept of the versions that the rows of a copy have had, in a table beside it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from incremental_assets.core.model.rename import RenamedAt

SUFFIX = "__history"
"""The end of the name of the table, and of the asset, that holds the versions."""
VALID_FROM, VALID_TO, IS_CURRENT = "_valid_from", "_valid_to", "_is_current"
DELETED = "_sync_deleted"


class History(StrEnum):
    """Whether versions are kept, and how."""

    NONE = "none"
    APPEND = "append"
    """Each version as it landed."""
    SCD2 = "scd2"
    """Each version with the time from which and up to which it was valid."""

    @property
    def columns(self) -> tuple[str, ...]:
        """What a version carries beside what every row of the lake does."""
        if self is History.NONE:
            return ()
        return (VALID_FROM, VALID_TO, IS_CURRENT, DELETED) if self is History.SCD2 else (DELETED,)


@dataclass(frozen=True, slots=True)
class Step:
    """What a history has to follow in one commit: the rows of one sequence, or, if `whole`, the copy as it is.

    `version` is the copy's, and the history shows it from then on. Versions begin at `clock` where their rows tell no time, and stamps
    without a zone are readings of `zone`.
    """

    version: int
    seq: int
    batch_id: str
    clock: datetime
    zone: str
    whole: bool
    landed_at: int | None = None
    """The version of the one commit that is to be followed; None where there is more."""
    restores: int | None = None
    """The sequence whose rows are there again, for a copy that was rolled back."""
    renames: tuple[RenamedAt, ...] = ()
    """Columns of the versions that are to have other names first, by the copy's commits, oldest first."""
    has_rows: bool = True
    """Whether there is more to follow than these."""
    begins_again: bool = False
    """Whether a history had shown the copy, and is gone: a new one begins with the copy as it is."""


@dataclass(frozen=True, slots=True)
class HistoryRows:
    """What one commit did to a history: versions that it added, tombstones among them, and versions that have ended."""

    added: int = 0
    deleted: int = 0
    """Versions that say that their row is gone."""
    ended: int = 0
    version: int | None = None
    """The version of the history's table."""
    rows: int | None = None
    """All versions that it holds then."""
    begun_again: bool = False
    """Whether a history had been there, and was gone."""

    def __add__(self, other: HistoryRows) -> HistoryRows:
        counts = (self.added + other.added, self.deleted + other.deleted, self.ended + other.ended)
        rows = self.rows if other.rows is None else other.rows
        return HistoryRows(*counts, other.version or self.version, rows, self.begun_again or other.begun_again)


@dataclass(frozen=True, slots=True)
class FaultyKeys:
    """Keys of which a history tells something wrong: how many, and some of them."""

    keys: int
    samples: tuple[str, ...] = ()
