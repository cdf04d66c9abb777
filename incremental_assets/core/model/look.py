"""What a look at a source came to: which of its tables were not seen in step, and what the source said of itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from incremental_assets.core.model.table_id import TableId


@dataclass(frozen=True, slots=True)
class Look:
    """One look that has just ended."""

    behind: frozenset[TableId]
    """Tables with something to read, tables that may not go on, and tables that were not looked at."""
    seconds: float
    """How long it took."""
    held_back_since: datetime | None = None
    """Since when a transaction holds watermarks back, on the source's clock."""
    kept_bytes: int | None = None
    """How much of its log the source keeps for us; None where none is read."""
    within: Mapping[TableId, timedelta] = field(default_factory=dict)
    """Of tables with an objective of freshness, how long ago they may have been in step."""


@dataclass(frozen=True, slots=True)
class Looked:
    """What the checkpoint database keeps of the looks at one source. Times are on its own clock."""

    looked_at: datetime | None = None
    """When the last look began that the source answered."""
    failed_at: datetime | None = None
    """When it last did not answer."""
    behind: Mapping[TableId, datetime | None] = field(default_factory=dict)
    """Each table that the last look did not see in step, and when one last did; None where none ever has."""
    held_back_since: datetime | None = None
    kept_bytes: int | None = None

    @property
    def answers(self) -> bool:
        """Whether the source answered when it was last asked."""
        return self.looked_at is not None and (self.failed_at is None or self.failed_at < self.looked_at)

    def in_step(self, table: TableId) -> datetime | None:
        """When a look last saw that a copy lacked nothing that had settled in the source; None where none ever has."""
        return self.behind.get(table, self.looked_at)
