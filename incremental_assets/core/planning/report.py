"""What one sync did: the numbers that people, the checkpoint table and Dagster show."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from incremental_assets.core.errors import Busy, Refused
from incremental_assets.core.model.cursor import CursorValue
from incremental_assets.core.model.table import Strategy, TableId
from incremental_assets.core.model.window import Window
from incremental_assets.core.planning.plan import Mode
from incremental_assets.core.planning.settled_bound import Guarantee


class Status(StrEnum):
    """How a sync of one table ended."""

    LANDED = "landed"
    IDLE = "idle"
    FAILED = "failed"
    REFUSED = "refused"
    """Destructive, and not asked for: it waits for a person."""
    BUSY = "busy"

    @classmethod
    def of(cls, error: BaseException) -> Status:
        """How a sync ends that met this error."""
        return cls.BUSY if isinstance(error, Busy) else cls.REFUSED if isinstance(error, Refused) else cls.FAILED


@dataclass(frozen=True, slots=True)
class RowCounts:
    """Rows of one sync. `read` is the source's own count of the snapshot; `late` are those of inserted and updated that committed late."""

    read: int = 0
    inserted: int = 0
    updated: int = 0
    deleted: int = 0
    unchanged: int = 0
    late: int = 0
    quarantined: int = 0


@dataclass(frozen=True, slots=True)
class SyncReport:
    """One sync of one table, from request to landed. `seconds` is the whole, `stages` its parts in order."""

    table: TableId
    run_id: str
    strategy: Strategy
    mode: Mode
    status: Status
    guarantee: Guarantee | None = None
    guarantee_reason: str = ""
    window: Window | None = None
    settled: CursorValue | None = None
    previous_watermark: CursorValue | None = None
    new_watermark: CursorValue | None = None
    seq: int | None = None
    rows: RowCounts = field(default_factory=RowCounts)
    target_version: int | None = None
    lag: float | None = None
    """Seconds that the new watermark lies behind the source's clock at the bound; None for integers and for tables without a cursor."""
    seconds: float = 0.0
    stages: tuple[tuple[str, float], ...] = ()
    warnings: tuple[str, ...] = ()
    reason: str = ""
    """Why nothing was read, for an idle table."""
    error: str | None = None
