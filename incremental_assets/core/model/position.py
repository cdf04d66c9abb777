"""The place where the next sync of a table continues, as its capture knows it: opaque to all who carry it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

from incremental_assets.core.model.cursor import CursorValue
from incremental_assets.core.model.window import Window, gaps


class Position(ABC):
    """A capture derives its own from this, as a frozen value, and keeps there what it needs to go on; nobody else asks for more than stands here.

    A capture whose table has no cursor says nothing of watermarks and windows.
    """

    __slots__ = ()
    capture: ClassVar[str] = ""
    """The name of the capture that reads it back; empty for a database's."""

    @property
    def zone(self) -> str:
        """In which stamps without a zone are read."""
        return "UTC"

    @property
    def watermark(self) -> CursorValue | None:
        """The value of the cursor below which everything has settled and was read."""
        return None

    @property
    def max_cursor_read(self) -> CursorValue | None:
        """The highest cursor of any row that landed: none of the target lies above it."""
        return None

    @property
    def coverage(self) -> tuple[Window, ...]:
        """What has been read, and has settled."""
        return ()

    @property
    def provisional(self) -> int | None:
        """How many of the rows that have landed are read again; None where that is not known."""
        return None

    @property
    def unfinished(self) -> str:
        """What of the table has still to come, in words, where it lands in parts; empty for any other."""
        return ""

    def reaches(self, value: CursorValue) -> bool:
        """Whether everything below a value was read; False for a value of another type."""
        return self.watermark is not None and self.watermark.type is value.type and value <= self.watermark

    def unread(self, start: CursorValue | None, upper: CursorValue | None) -> tuple[Window, ...]:
        """Windows from `start` up to `upper` that no sync has read, ascending."""
        return gaps(self.coverage, Window(start, upper)) if start is None or upper is None or start <= upper else ()

    @abstractmethod
    def rewound(self, watermark: CursorValue | None, *, same_cursor: bool) -> Self:
        """What a reset leaves: the next sync reads from there (None: everything), whichever source answers."""

    @abstractmethod
    def forgotten(self) -> Self:
        """Nothing is known of what landed."""

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """Its part of a state's document; under `position` stands what is its own."""

    @abstractmethod
    def __str__(self) -> str:
        """In words, for people."""

    def moved(self) -> Self:
        """The same table in another cluster, as `pg_upgrade` leaves it."""
        return self

    def unchecked(self) -> Self:
        """Rows may have landed that it does not know of."""
        return self

    def lowered(self, watermark: CursorValue | None) -> Self:  # noqa: ARG002 - it matters to some
        """What is left where the watermark has been lower since, or has been none."""
        return self

    def rolled_back(self, now: Position) -> Self:  # noqa: ARG002 - it matters to some
        """This one again, with what the one of now has learnt of the source since."""
        return self
