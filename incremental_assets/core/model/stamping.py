"""How a source gives a time cursor its values, as far as its catalogue shows: what its own clock writes, and what of that is cut off. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from incremental_assets.core.model.cursor import CursorValue


class Unit(StrEnum):
    """What a stamp is cut to."""

    SECOND = "second"
    MINUTE = "minute"
    HOUR = "hour"
    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    QUARTER = "quarter"
    YEAR = "year"


_LONGEST = {
    Unit.SECOND: timedelta(seconds=1),
    Unit.MINUTE: timedelta(minutes=1),
    Unit.HOUR: timedelta(hours=1),
    # A day on which clocks are put back; no zone has put them back by more than two hours since there are computers.
    Unit.DAY: timedelta(hours=26),
    Unit.WEEK: timedelta(days=7, hours=2),
    Unit.MONTH: timedelta(days=31, hours=2),
    Unit.QUARTER: timedelta(days=92, hours=2),
    Unit.YEAR: timedelta(days=366, hours=2),
}


@dataclass(frozen=True, slots=True, order=True)
class Cut:
    """What is below the unit is cut off, or rounded to it, before a stamp is stored."""

    unit: Unit
    aligned: bool = True
    """Whether the unit begins where the cursor's own values show it to; else a stamp may be older than its moment by the longest such unit."""

    def lowest(self, value: CursorValue) -> CursorValue:
        """The smallest value that is stored of a moment which reads `value` or more."""
        if not value.is_finite:
            return value
        if not self.aligned:
            return value.minus(_LONGEST[self.unit])
        try:
            return CursorValue.of(value.type, _floor(value, self.unit))
        except (OverflowError, ValueError):
            # Outside of Python's calendar: too low a bound only reads more.
            return CursorValue(value.type, "-infinity")

    def __str__(self) -> str:
        return self.unit if self.aligned else f"{self.unit} of another zone"


@dataclass(frozen=True, slots=True)
class Stamp:
    """The source's clock, in the transaction or the statement that writes a row, as a default or a trigger of the source writes it."""

    cuts: tuple[Cut, ...] = ()
    zone: str = ""
    """The zone whose wall clock it is, where the expression names one; empty: that of the session."""


@dataclass(frozen=True, slots=True)
class Unproven:
    """Nothing shows that the source's clock writes it. `why` is a sentence without its end; empty where neither a default nor a trigger writes it at all."""

    why: str = ""
    by_source: bool = False
    """Whether the source writes such rows itself, so that nobody else stamps them either."""


Proof = Stamp | Unproven
NOTHING = Unproven()


@dataclass(frozen=True, slots=True)
class Stamping:
    """What writes one column: at an insert that does not bring a value itself, and at each update."""

    insert: Proof = NOTHING
    update: Proof = NOTHING
    grain: tuple[Cut, ...] = ()
    """What its type cuts of every value, whoever writes it."""
    marks: str = ""
    """Another text once the default or a trigger was altered, though it may since be as it was: rows written in between may have other stamps."""
    marks_more: bool = False
    """Whether they are another text, too, once something else of the source was altered."""

    @property
    def stamps_inserts(self) -> bool:
        """Whether the source's clock is known to stamp inserts."""
        return isinstance(self.insert, Stamp)

    @property
    def stamps_updates(self) -> bool:
        """Whether the source's clock is known to stamp updates."""
        return isinstance(self.update, Stamp)

    @property
    def zone(self) -> str:
        """The one zone whose wall clock it shows, where that is named; empty where none is, or where they differ."""
        zones = {each.zone for each in (self.insert, self.update) if isinstance(each, Stamp)}
        return zones.pop() if len(zones) == 1 else ""

    @property
    def cuts(self) -> tuple[Cut, ...]:
        """Everything that may be cut off one of its values, as far as is known."""
        proven = [each.cuts for each in (self.insert, self.update) if isinstance(each, Stamp)]
        return tuple(sorted({*self.grain, *(cut for cuts in proven for cut in cuts)}))


BY_THE_SOURCE = Stamping(Stamp(), Stamp())
"""A column that the source's own clock stamps at each insert and each update, and of which nothing is cut."""


@dataclass(frozen=True, slots=True)
class StampsSeen:
    """How a table was stamped at its last sync, as the watermark rests on it."""

    cuts: tuple[Cut, ...] = ()
    within: timedelta = timedelta()
    """How long before its transaction an application stamps a row at most, as the configuration declared."""
    marks: str = ""
    proven: bool = True
    """Whether the stamps were the source's own, or declared."""
    exceeded: timedelta | None = None
    """What had been declared when a row came later than it allows; None: none has come."""

    def to_json(self) -> dict[str, object]:
        """A part of a state's document."""
        return {
            "cuts": [[cut.unit, cut.aligned] for cut in self.cuts],
            "within": self.within.total_seconds(),
            "marks": self.marks,
            "proven": self.proven,
            "exceeded": None if self.exceeded is None else self.exceeded.total_seconds(),
        }

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> StampsSeen:
        """Read it back."""
        exceeded = document["exceeded"]
        return cls(
            cuts=tuple(Cut(Unit(unit), aligned) for unit, aligned in document["cuts"]),
            within=timedelta(seconds=document["within"]),
            marks=document["marks"],
            proven=document["proven"],
            exceeded=None if exceeded is None else timedelta(seconds=exceeded),
        )


def _floor(value: CursorValue, unit: Unit) -> datetime:
    moment = value.moment().replace(microsecond=0)
    if unit is Unit.SECOND:
        return moment
    moment = moment.replace(second=0)
    if unit is Unit.MINUTE:
        return moment
    moment = moment.replace(minute=0)
    if unit is Unit.HOUR:
        return moment
    moment = moment.replace(hour=0)
    if unit is Unit.DAY:
        return moment
    if unit is Unit.WEEK:
        return moment - timedelta(days=moment.weekday())
    moment = moment.replace(day=1)
    if unit is Unit.MONTH:
        return moment
    return moment.replace(month=moment.month - (moment.month - 1) % 3 if unit is Unit.QUARTER else 1)
