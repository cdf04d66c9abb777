"""What one sync reads, as its capture has decided it: opaque to all who carry it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from incremental_assets.core.model.cursor import CursorValue
from incremental_assets.core.model.guarantee import Promise
from incremental_assets.core.model.source_identity import SourceIdentity
from incremental_assets.core.model.window import EVERYTHING, Window


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A capture derives its own from this and keeps there what its readers need; nobody else asks for more than stands here."""

    window: Window = EVERYTHING
    """The rows that it is about, by their cursor."""
    finds_gone: bool = False
    """Whether keys of the copy are looked for in the snapshot, to find those that are gone."""
    finds_differing: bool = False
    """Whether the snapshot is compared with the copy, and only what differs is read of it."""
    deletes_due: datetime | None = None
    """When deletes are looked for next, where they are not by this."""

    @property
    def promise(self) -> Promise:
        """What the run can state once this has landed."""
        raise NotImplementedError

    @property
    def clock(self) -> datetime:
        """The source's clock before anything is read."""
        raise NotImplementedError

    @property
    def identity(self) -> SourceIdentity | None:
        """Which source it is, where that is known."""
        return None

    @property
    def is_whole(self) -> bool:
        """Whether it is about all rows of the table."""
        return False

    @property
    def comes_once(self) -> bool:
        """Whether it has nothing that a sync before it has landed."""
        return False

    @property
    def whole_from(self) -> CursorValue | None:
        """The cursor from which on every row is read by this, or by the sync that has to follow it; None: all are."""
        return self.window.lower

    @property
    def has_new_keys(self) -> bool:
        """Whether no row that has landed has one of its keys."""
        return False

    @property
    def new_watermark(self) -> CursorValue | None:
        """Where the watermark goes."""
        return None

    @property
    def behind(self) -> str:
        """The place in a log behind which its changes are read, in the log's own words; empty where rows are read."""
        return ""

    @property
    def settled_at(self) -> CursorValue | None:
        """The value of the cursor below which no row can come any more; None where nothing is known to have settled."""
        return None

    @property
    def lag(self) -> float | None:
        """Seconds from the place that it reaches to the source's clock; None where no time tells them apart."""
        return None

    @property
    def told_above(self) -> CursorValue | None:
        """Stamps at or above this are warned of, as they are past the source's clock; None where no row is stamped."""
        return None

    @property
    def compared(self) -> tuple[Window, ...]:
        """The rows that are compared, where rows are."""
        return (self.window,)
