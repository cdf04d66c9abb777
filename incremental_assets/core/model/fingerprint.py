"""What a snapshot of the source showed, kept to tell later whether it would show the same."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from incremental_assets.core.model.clock_reading import moment
from incremental_assets.core.model.cursor import CursorValue, dump_value, load_value


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What a snapshot showed at or above `lower`: equal later means that nothing moved. `digest` sums hashes of row versions."""

    lower: CursorValue | None
    rows: int
    highest: str | None
    digest: str
    started: datetime | None = None
    """When the server was started that gave these versions their numbers: after a crash it may give them out again. None where there are
    no rows, or where the digest is of what they hold."""

    def to_json(self) -> dict[str, Any]:
        """The fingerprint as a part of a state's document."""
        return {
            "lower": dump_value(self.lower),
            "rows": self.rows,
            "highest": self.highest,
            "digest": self.digest,
            "started": self.started and self.started.isoformat(),
        }

    @classmethod
    def from_json(cls, kept: dict[str, Any]) -> Fingerprint:
        """Read it back, also from before there was a `started`."""
        started = kept.get("started")
        return cls(
            load_value(kept["lower"]), kept["rows"], kept["highest"], kept["digest"], started and moment(started)
        )


@dataclass(frozen=True, slots=True)
class LastRead:
    """The rows that a sync has read: all of a snapshot, from `lower` up to the end."""

    lower: CursorValue | None
    visible: str
    """Which transactions the snapshot showed, in the source's own words."""
    started: datetime
    """When the server was started that gave these their numbers: after a crash it may give some out again."""
    shape: str
    """What was read of a row, and which rows for want of a cursor were not."""

    def to_json(self) -> dict[str, Any]:
        """What was read as a part of a state's document."""
        return {
            "lower": dump_value(self.lower),
            "visible": self.visible,
            "started": self.started.isoformat(),
            "shape": self.shape,
        }

    @classmethod
    def from_json(cls, kept: dict[str, Any]) -> LastRead:
        """Read it back."""
        return cls(load_value(kept["lower"]), kept["visible"], moment(kept["started"]), kept["shape"])
