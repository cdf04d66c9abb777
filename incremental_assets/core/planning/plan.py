"""The request of a sync, the observation of the source, and the plan: values only, `planner.py` decides."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from incremental_assets.core.model.cursor import CursorValue
from incremental_assets.core.model.deletes import IGNORED
from incremental_assets.core.model.guarantee import Guarantee
from incremental_assets.core.model.key_parts import KeyParts
from incremental_assets.core.model.key_range import KeyRange
from incremental_assets.core.model.quarantine import Resolution
from incremental_assets.core.model.rename import Rename
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.window import Window
from incremental_assets.core.planning.reading import Reading


class Mode(StrEnum):
    """Why a sync runs: go on from the watermark, read a window again, read again what differs in it, what a contract holds of it, new columns of it, or everything again.

    A rollback reads nothing: it takes the copy back to what an earlier run left.
    """

    SYNC = "sync"
    BACKFILL = "backfill"
    REPAIR = "repair"
    REPLAY = "replay"
    FILL = "fill"
    FULL_REFRESH = "full_refresh"
    ROLLBACK = "rollback"

    @property
    def reads_again(self) -> bool:
        """Whether it reads in a window that syncs have read, so that the watermark stays."""
        return self in (Mode.BACKFILL, Mode.REPAIR, Mode.REPLAY, Mode.FILL)


@dataclass(frozen=True, slots=True)
class Request:
    """The request to sync one table. `window` is set where a window is read again."""

    run_id: str
    mode: Mode = Mode.SYNC
    window: Window | None = None
    allow_shrink: bool = False
    looks_now: bool = False
    """Whether tables that are read or compared at intervals are looked at before it is time."""
    connections: int | None = None
    """The most connections to the source; None: as configured."""
    resolves: Resolution = Resolution.SUPERSEDED
    """What becomes of a row that is held, once a later version of it is read."""
    places: KeyParts | None = None
    """The places of a repair: the window's rows with keys at these are read; None: all of its rows."""
    ranges: tuple[KeyRange, ...] = ()
    """The ranges of the key that a part of a first load reads, one behind the other; none for any other sync."""


@dataclass(frozen=True, slots=True)
class CommitIds:
    """The names under which one sync commits: the target's app id, a sequence never used before, and its batch."""

    app_id: str
    seq: int
    batch_id: str
    load_seq: int | None = None
    """The sequence below `seq` for the rows of a first load, which may go to the target before their position does; see `core.landing.first_load`."""


@dataclass(frozen=True, slots=True)
class RollBack:
    """The way back: under which names and by which run, to which version of the copy, and which sequence had left that."""

    commit_ids: CommitIds
    run_id: str
    version: int
    seq: int


@dataclass(frozen=True, slots=True)
class Renaming:
    """Renames as one commit: under which names, and by which run."""

    commit_ids: CommitIds
    run_id: str
    renames: tuple[Rename, ...]


@dataclass(frozen=True, slots=True)
class NothingToDo:
    """Nothing to read. `state` is set if the watermark moved nevertheless."""

    reason: str
    guarantee: Guarantee
    guarantee_reason: str
    settled: CursorValue | None
    previous_watermark: CursorValue | None
    state: State | None = None
    warnings: tuple[str, ...] = ()
    renames: tuple[Rename, ...] = ()
    """Columns of the copy that are to have other names first."""
    next_look: datetime | None = None
    """When the table is looked at again, where nobody looked at it now; on the source's clock."""
    within: timedelta | None = None
    """How long stamps may lag, of what is settled within that."""
    deletes_due: datetime | None = None
    """When deletes are looked for again, where nobody looked for them now."""
    is_behind: bool = False
    """Whether the source, its catalogue included, has yet to show what landed."""


@dataclass(frozen=True, slots=True)
class SyncPlan:
    """One read and one commit, decided before anything is touched."""

    spec: TableSpec
    request: Request
    commit_ids: CommitIds
    reading: Reading
    """What is read, as the capture of the table has decided it."""
    previous: State | None
    warnings: tuple[str, ...] = ()
    renames: tuple[Rename, ...] = ()
    """Columns of the copy that are to have other names first; the plan is made as if they had."""

    @property
    def overwrites(self) -> bool:
        """Whether the commit replaces the whole table."""
        return self.request.mode is Mode.FULL_REFRESH or self.spec.traits.overwrites

    def at(self, places: KeyParts | None) -> SyncPlan:
        """The same, of the rows with keys at these places alone; None: of all."""
        return replace(self, request=replace(self.request, places=places))

    @property
    def of_new_columns(self) -> SyncPlan | None:
        """The same read, of key, cursor and new columns alone; None where whole rows are read.

        A contract is about whole rows, and of a key that is only declared the row to land is chosen by all of its columns.
        """
        spec, unfilled = self.spec, self.previous.unfilled if self.previous else None
        if self.request.mode is not Mode.FILL or unfilled is None or spec.contract is not None or spec.trusts_key:
            return None
        read = {name.lower() for name in (*spec.named_key, *spec.key, *spec.cursor_columns, *unfilled.columns)}
        shape = spec.shape.without([name for name in spec.shape.names if name.lower() not in read])
        return replace(self, spec=replace(spec, shape=shape, deletes=IGNORED))

    @property
    def previous_watermark(self) -> CursorValue | None:
        """The watermark before this sync."""
        return self.previous.position.watermark if self.previous else None

    @property
    def goes_on(self) -> bool:
        """Whether it reads on from the watermark, and neither a window nor everything again."""
        return self.request.mode is Mode.SYNC and not self.overwrites
