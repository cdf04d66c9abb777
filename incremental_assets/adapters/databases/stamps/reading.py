"""What an expression reads off the clock of the source, and what of it a column stores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from incremental_assets.core.model.stamping import Cut, Stamp, Unit
from incremental_assets.core.model.time_zones import proper_name


@dataclass(frozen=True, slots=True)
class Reading:
    """The clock now, as a moment or as a wall clock shows it, and what is cut off that."""

    is_moment: bool
    zone: str = ""
    """Of a wall clock the zone that the expression names; empty: the session's."""
    cuts: tuple[Cut, ...] = ()

    def cut(self, unit: Unit, *, aligned: bool = True) -> Reading:
        """The same, cut to a unit; `aligned`: one that begins where this very clock shows it to."""
        return replace(self, cuts=(*self.cuts, Cut(unit, aligned)))

    def stored(self, *, as_moment: bool) -> Stamp | None:
        """What a column stores of it; None where it would be another time than now.

        A column of moments shows no zone: of which one a day or an hour began is not known from its values. A second is one in every zone.
        """
        if not as_moment:
            return Stamp(tuple(sorted(set(self.cuts))), "" if self.is_moment else self.zone)
        if not self.is_moment and self.zone:
            return None
        return Stamp(tuple(sorted(set(elsewhere(self.cuts)))))


TIMES = ("timestamp", "timestamp_ntz", "date")
"""Spark's types of the columns of which it matters who stamps them."""
MOMENT = Reading(is_moment=True)
WALL = Reading(is_moment=False)


def elsewhere(cuts: Sequence[Cut]) -> tuple[Cut, ...]:
    """The same in values that do not show the zone in which they were cut."""
    return tuple(Cut(each.unit, each.unit is Unit.SECOND) for each in cuts)


def in_zone(name: str) -> str:
    """A zone as Python knows it, where it does."""
    return proper_name(name) or name


def grain_of(digits: int | None) -> tuple[Cut, ...]:
    """What a type with so many digits of a second cuts, or rounds, of a stamp; None: it has all of a microsecond."""
    return () if digits is None or digits >= _MICROSECONDS else (Cut(Unit.SECOND),)


_MICROSECONDS = 6
