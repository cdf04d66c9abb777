"""Rows that a contract holds: how many, why, since when, and how each came to be held no more."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.words import agreeing, counted

_NAMED = 5
"""Reasons that a sentence names."""


class Resolution(StrEnum):
    """How a row came to be held no more."""

    REPLAYED = "replayed"
    """A replay read it again, and it passed."""
    SUPERSEDED = "superseded"
    """A sync read a later version of it."""
    GONE = "gone"
    """The source has it no more."""


@dataclass(frozen=True, slots=True)
class HeldRows:
    """Those of a table that are held now. `reasons`: the most frequent first, each as it stands in quarantine."""

    rows: int = 0
    reasons: tuple[tuple[str, int], ...] = ()
    oldest: datetime | None = None
    stale: int = 0
    """Keys of which the copy shows what had landed before the row was held: an earlier version, or the same one where the contract is younger than the row."""
    stale_since: datetime | None = None

    @property
    def sentence(self) -> str:
        """What there is to say of them."""
        if not self.rows:
            return "no row is held in quarantine"
        named = ", ".join(f"{reason} ({rows:,})" for reason, rows in self.reasons[:_NAMED])
        more = len(self.reasons) - _NAMED
        named += f", and {counted(more, 'more reason')}" if more > 0 else ""
        since = f", since {self.oldest:%Y-%m-%d %H:%M}Z" if self.oldest else ""
        found = f"{counted(self.rows, 'row')} {agreeing(self.rows, 'is', 'are')} held in quarantine{since}: {named}"
        if not self.stale:
            return found
        since = f", since {self.stale_since:%Y-%m-%d %H:%M}Z" if self.stale_since else ""
        return f"{found}; of {counted(self.stale, 'key')} the copy shows what had landed before, an earlier version or the same one{since}"


NOTHING_HELD = HeldRows()


@dataclass(frozen=True, slots=True)
class UnfitRows:
    """Rows that no copy can take, as a value of theirs has no place in its types, and that have not come in another version since. `reasons`: the most frequent first."""

    rows: int = 0
    reasons: tuple[tuple[str, int], ...] = ()
    oldest: datetime | None = None

    @property
    def sentence(self) -> str:
        """What there is to say of them; empty where there are none."""
        if not self.rows:
            return ""
        since = f" since {self.oldest:%Y-%m-%d %H:%M}Z" if self.oldest else ""
        named = ", ".join(f"{reason} ({rows:,})" for reason, rows in self.reasons[:_NAMED])
        return f"{counted(self.rows, 'row')} of the source cannot land and {agreeing(self.rows, 'is', 'are')} in quarantine{since}: {named}"


NONE_UNFIT = UnfitRows()


def held_in_store(spec: TableSpec) -> HeldRows | None:
    """What is known without a session, of a lake that only Spark can reach: nothing is held without a contract; None with one, as its rows are not counted."""
    return None if spec.contract is not None else NOTHING_HELD
