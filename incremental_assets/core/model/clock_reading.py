"""What the source's clock showed, beside the clocks of the machine that asked; and the time that it shows twice."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any


def moment(text: str) -> datetime:
    """A moment out of a document."""
    return datetime.fromisoformat(text).astimezone(UTC)


@dataclass(frozen=True, slots=True)
class HostClock:
    """The clocks of the machine that asked, in seconds, just before it asked the source for its own, and how long that took."""

    boot: str
    """The machine and its current boot; empty if that cannot be known."""
    uptime: float
    """Time since that boot, which cannot be set."""
    wall: float
    took: float


@dataclass(frozen=True, slots=True)
class ClockReading:
    """What the source's clock showed when the watermark was decided."""

    source: datetime
    oldest: datetime | None
    """The earlier of `source` and the start of the oldest open transaction; None where not all transactions could be seen."""
    host: HostClock | None

    def to_json(self) -> dict[str, Any]:
        """The reading as a part of a state's document."""
        host = self.host
        return {
            "source": self.source.isoformat(),
            "oldest": self.oldest and self.oldest.isoformat(),
            "host": host and {"boot": host.boot, "uptime": host.uptime, "wall": host.wall, "took": host.took},
        }

    @classmethod
    def from_json(cls, kept: dict[str, Any]) -> ClockReading:
        """Read it back."""
        host = kept["host"] and HostClock(**kept["host"])
        return cls(moment(kept["source"]), kept["oldest"] and moment(kept["oldest"]), host)


@dataclass(frozen=True, slots=True)
class PutBack:
    """A span of time that the source's clock shows twice, since it was put back from somewhere up to `high` to somewhere from `low` on."""

    low: datetime | None
    """Its beginning; None where it cannot be known: the watermark then stays where it is."""
    high: datetime
    proven: bool
    """Whether it must have been; else the clocks of two of our own machines may just as well disagree."""

    def to_json(self) -> dict[str, Any]:
        """The span as a part of a state's document."""
        return {"low": self.low and self.low.isoformat(), "high": self.high.isoformat(), "proven": self.proven}

    @classmethod
    def from_json(cls, kept: dict[str, Any]) -> PutBack:
        """Read it back."""
        return cls(kept["low"] and moment(kept["low"]), moment(kept["high"]), proven=kept["proven"])
