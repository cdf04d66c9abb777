"""What a person has done to tables beside syncs: who, when, to what, and why."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from incremental_assets.core.model.table_id import TableId


class Act(StrEnum):
    """What was asked for."""

    PAUSE = "pause"
    RESUME = "resume"
    RESET = "reset"
    ACCEPT_SOURCE = "accept source"
    TAKE_OVER = "take over"
    ROLLBACK = "rollback"
    REPLAY = "replay"
    FULL_REFRESH = "full refresh"
    ERASE = "erase"
    CONFIGURE = "configure"
    """Found at the first use of a file that says something else than before: whoever used it is named, who need not have written it."""


@dataclass(frozen=True, slots=True)
class Deed:
    """`table` None: the whole source. `at` is on the clock of the checkpoint database, before it was done; `run_id` empty where no run does it."""

    at: datetime
    act: Act | str
    """As it is written where this release has no such act, or somebody has edited it."""
    source: str
    table: TableId | None
    by: str
    reason: str
    run_id: str
    came_to: str = ""
    """The last event of the table by that run; empty where there is none."""

    @property
    def of(self) -> str:
        """Its name, for people."""
        return self.source if self.table is None else str(self.table)


@dataclass(frozen=True, slots=True)
class DeedChain:
    """All deeds, each with a hash of itself and of the one before. `head`: the last hash; `altered`: those that are not as they were written, or whose forerunner is gone."""

    rows: int = 0
    head: str = ""
    altered: tuple[Deed, ...] = ()
