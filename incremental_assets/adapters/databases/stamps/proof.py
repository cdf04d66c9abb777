"""From what a default and triggers leave in a column to what that proves, in a sentence where it proves nothing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from incremental_assets.adapters.databases.stamps.reading import Reading
from incremental_assets.adapters.databases.stamps.steps import KEPT, Outcome
from incremental_assets.core.model.stamping import NOTHING, Proof, Stamp, Unproven


@dataclass(frozen=True, slots=True)
class Found:
    """What one write leaves in a column, and why where that is no reading of the clock."""

    outcome: Outcome
    why: str = ""

    def then(self, outcome: Outcome, why: str) -> Found:
        """After a trigger that leaves this; one that keeps what the row brought changes nothing."""
        return self if outcome == KEPT else Found(outcome, why)

    def proves(self, column: str, *, as_moment: bool) -> Proof:
        """What it proves of a column of moments, or of wall clocks."""
        if self.outcome == KEPT:
            return Unproven(self.why) if self.why else NOTHING
        stamp = self.outcome.stored(as_moment=as_moment) if isinstance(self.outcome, Reading) else None
        if stamp is not None:
            return stamp
        return Unproven(self.why or f"{column!r} gets another value than the database's own time")


def of_default(column: str, text: str) -> str:
    """Why a default proves nothing."""
    return f"the default of {column!r} is {_short(text)}, which is not known to be the database's own time"


def of_trigger(column: str, trigger: str) -> str:
    """Why a trigger proves nothing."""
    return f"the trigger {trigger} may give {column!r} another value than the database's own time"


def all_of(proofs: Iterable[Proof]) -> Proof:
    """What holds of every part of a table."""
    found = list(dict.fromkeys(proofs))
    doubt = next((each for each in found if isinstance(each, Unproven)), None)
    if doubt is not None:
        return doubt
    stamps = [each for each in found if isinstance(each, Stamp)]
    if len({each.zone for each in stamps}) > 1:
        return Unproven("its parts are stamped in different time zones")
    return Stamp(tuple(sorted({cut for each in stamps for cut in each.cuts})), stamps[0].zone) if stamps else NOTHING


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"


_LONGEST = 80
