"""What a look at a topic tells: where each of its partitions begins and ends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from incremental_assets.core.model.moment import Free


@dataclass(frozen=True, slots=True)
class Ends:
    """The first offset that a partition still has, and the one behind the last record that is settled: what a transaction has not committed lies beyond it."""

    low: int
    high: int


@dataclass(frozen=True, slots=True)
class TopicSeen:
    """Implements `Observation`. A later look finds more, and reads what was found here just as well."""

    topic: str
    """By its name."""
    bound: Free
    id: str = ""
    """What the cluster numbers it by; empty where it numbers none."""
    cluster: str = ""
    partitions: tuple[Ends, ...] = ()
    """None of a topic that is not there."""
    suffices: bool = True
    highest: None = None

    def elsewhere(self) -> Self:
        """Nothing in it depends on a position."""
        return self
