"""How far a table has been read by its cursor: what one sync leaves to the next, and a reset moves back."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from incremental_assets.core.model.clock_reading import moment
from incremental_assets.core.model.cursor import CursorValue, dump_value, load_value


@dataclass(frozen=True, slots=True)
class Settling:
    """The highest integer read, and the source's clock just after, or a later begin of a transaction that was open: settled once none is open
    that began up to then, and the source's log is on disk as far as it had been written: a crash before that gives the numbers out again."""

    highest: CursorValue
    clock: datetime
    written: int | None = None
    """The position up to which the log had been written; None where that is not known."""


@dataclass(frozen=True, slots=True)
class Position:
    """The place where the next sync continues; empty at first, and for a table without a cursor."""

    watermark: CursorValue | None = None
    """The value below which everything has settled and was read."""
    max_cursor_read: CursorValue | None = None
    """The highest cursor of any row that landed: none of the target lies above it."""
    settling: Settling | None = None
    """Numbers that were read and may still be joined by others below them."""
    due: CursorValue | None = None
    """The smallest stamp past the source's clock that went to quarantine: its row lands once that time has come, though nothing moves."""

    def __str__(self) -> str:
        return str(self.watermark or "nothing")

    def reaches(self, value: CursorValue) -> bool:
        """Whether everything below a value was read; False for a value of another type."""
        return self.watermark is not None and self.watermark.type is value.type and value <= self.watermark

    def rewound(self, watermark: CursorValue | None, *, same_cursor: bool) -> Position:
        """What a reset leaves. Late rows are found by comparison with landed ones, so the highest value read stays, unless the cursor changed."""
        return Position(watermark, self.max_cursor_read if same_cursor else None)

    def to_json(self) -> dict[str, Any]:
        """The position as a part of a state's document."""
        return {
            "watermark": dump_value(self.watermark),
            "max_cursor_read": dump_value(self.max_cursor_read),
            "settling": self.settling
            and {
                "highest": dump_value(self.settling.highest),
                "clock": self.settling.clock.isoformat(),
                "written": self.settling.written,
            },
            "due": dump_value(self.due),
        }

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> Position:
        """Read it back; a document that was written before there was a `due`, or a `written`, does not know it."""
        return cls(
            watermark=load_value(document["watermark"]),
            max_cursor_read=load_value(document["max_cursor_read"]),
            settling=_load_settling(document["settling"]),
            due=load_value(document.get("due")),
        )


UNREAD = Position()
"""Nothing is known to have been read."""


def _load_settling(kept: Any) -> Settling | None:
    highest = load_value(kept["highest"]) if kept else None
    if highest is None:
        return None
    return Settling(highest, moment(kept["clock"]), kept.get("written"))
