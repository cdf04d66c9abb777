"""What is played: tables that are made, series of rounds on them, and who takes part in each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bench.contender import Contender
from bench.ours import Ours
from bench.source import Source, Table

Change = Callable[[Source, int], None]
"""What happens in the source before a round; the number is another one each time."""


@dataclass(frozen=True)
class Series:
    """Rounds in which every contender does the same. Without a `change` each round begins from nothing, or reads what is there (`again`)."""

    name: str
    title: str
    contenders: tuple[Contender, ...]
    once: tuple[Contender, ...] = ()
    """More of them, on whom no target rests: one round, so that the time is the others'."""
    rows: int | None = None
    """That one round moves; None for all rows of the tables."""
    change: Change | None = None
    again: bool = False
    rounds: int | None = None
    untimed: int = 0
    """Rounds before the first that counts."""
    settles: bool = True
    """Rounds begin when the changes are old enough to be settled."""
    verified_last: bool = False
    """Only what the last round leaves is compared, because comparing would take longer than the rounds."""

    @property
    def everybody(self) -> tuple[Contender, ...]:
        """In the order in which they begin."""
        return (*self.contenders, *self.once)

    @property
    def fresh(self) -> bool:
        """Whether each round begins from nothing."""
        return self.change is None and not self.again


@dataclass(frozen=True)
class Workload:
    """`schema` is made before and dropped after it; None for tables that are there."""

    name: str
    tables: tuple[Table, ...]
    series: tuple[Series, ...]
    schema: str | None = None
    make: Callable[[Source], None] | None = None
    profiled: tuple[Ours, ...] = ()
    """Of whose tick it is told where its time goes; one more change is made for each."""
    profile_change: Change | None = None

    @property
    def contenders(self) -> tuple[Contender, ...]:
        """Each once, in the order of the series."""
        return tuple(dict.fromkeys(each for series in self.series for each in series.everybody))
