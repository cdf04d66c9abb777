"""The events that the checkpoint table keeps of a table, and the position they lead to."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from incremental_assets.core.model.state import State
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.planning.report import FAILING, SyncReport
from incremental_assets.core.planning.target import AsLeft


class EventKind(StrEnum):
    """What a row of the checkpoint table records."""

    INTENT = "intent"
    STAGED = "staged"
    LANDED = "landed"
    FAILED = "failed"
    ABANDONED = "abandoned"
    FENCE = "fence"
    IDLE = "idle"
    RESET = "reset"
    REBUILT = "rebuilt"


TARGET_KINDS = (EventKind.LANDED, EventKind.REBUILT)
"""Events that say which target is ours, as a RESET does: after one without a target, the table at that path is accepted as it is."""

FINISHED_KINDS = (EventKind.LANDED, EventKind.FAILED, EventKind.IDLE)
"""Events that end a sync."""

CLOSING_KINDS = (EventKind.LANDED, EventKind.ABANDONED)
"""Events that close the intent of their own sequence. A failure of its run closes one that was not staged."""


@dataclass(frozen=True, slots=True)
class Event:
    """One row of the checkpoint table, appended and never edited. `state` is set if the resumable state changed."""

    table: TableId
    kind: EventKind
    run_id: str
    seq: int | None = None
    batch_id: str = ""
    app_id: str = ""
    state: State | None = None
    report: SyncReport | None = None
    target: AsLeft | None = None
    """The target right after it, for LANDED and REBUILT, and for a RESET that accepts another source."""
    detail: str = ""


@dataclass(frozen=True, slots=True)
class OpenIntent:
    """A sequence that was announced and never closed. `staged`: its commit may have been on its way."""

    seq: int
    batch_id: str
    staged: bool


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The position of one table: what its events lead to, or what a run has found in the lake instead (`rebuilt`)."""

    app_id: str = ""
    last_seq: int = -1
    """The highest sequence ever announced; the next one is above it."""
    state: State | None = None
    target: AsLeft | None = None
    open: OpenIntent | None = None
    last_report: SyncReport | None = None
    """The last finished sync: landed, idle or failed."""
    rebuilt: str = ""
    """How this run has just found it in the lake, for people; empty if the checkpoint table had it."""

    @property
    def is_failing(self) -> bool:
        """Whether the last sync failed or was refused."""
        return self.last_report is not None and self.last_report.status in FAILING


@dataclass(frozen=True, slots=True)
class Unmoved:
    """A table that stands still: where it was seen to stand, and the event to record of it, if any."""

    table: TableId
    position: Checkpoint
    event: Event | None
