"""Where one table stands, by the checkpoint database alone: what `status`, metrics and alerts have in common."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from incremental_assets.core.model.schema_change import SchemaChange
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.model.verified import Verified
from incremental_assets.core.planning.events import Checkpoint


@dataclass(frozen=True, slots=True)
class Holder:
    """Who writes a table now."""

    owner: str
    """Its process, for people."""
    run_id: str
    since: datetime


class Unfinished(StrEnum):
    """What became of a sync that began and has not ended."""

    RUNNING = "running"
    INTERRUPTED = "interrupted"


class Health(StrEnum):
    """A table in one word."""

    OK = "ok"
    WARN = "warn"
    """Rows are known to differ, or a run was interrupted: the next run or check goes on from there."""
    ERROR = "error"
    """Its last sync failed, or was refused."""


@dataclass(frozen=True, slots=True)
class Standing:
    """One table. Times are on the database's clock; None: not known."""

    table: TableId
    position: Checkpoint = field(default_factory=Checkpoint)
    ended_at: datetime | None = None
    """When its last sync ended, however it did."""
    landed_at: datetime | None = None
    """When rows were last committed to the copy."""
    failed_at: datetime | None = None
    """When a sync last failed or was refused, whatever has happened since."""
    in_step_at: datetime | None = None
    """The copy had all that had settled in the source at this moment: when the last sync began that read on to the end, or the last look that found nothing."""
    holder: Holder | None = None
    verified: Verified | None = None
    """None until a check has recorded something."""
    verified_at: datetime | None = None
    changed: tuple[datetime, SchemaChange] | None = None
    """The last change of its columns, and when it landed."""
    unfinished: Unfinished | None = None

    @property
    def health(self) -> Health | None:
        """None before its first sync."""
        report = self.position.last_report
        if self.position.is_failing:
            return Health.ERROR
        if self.unfinished is Unfinished.INTERRUPTED or (self.verified is not None and self.verified.drift):
            return Health.WARN
        return None if report is None else Health.OK


def in_step(looked: datetime | None, synced: datetime | None, put_back: datetime | None) -> datetime | None:
    """When a copy had all that had settled: the last look that saw it so, unless it was put back since, or the last sync, whichever is later."""
    by_look = looked if looked is None or put_back is None or looked > put_back else None
    return max((each for each in (by_look, synced) if each is not None), default=None)
