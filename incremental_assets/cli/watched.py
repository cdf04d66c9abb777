"""The runtime as a Dagster run gets it from the command line: the same doors, with someone listening at them."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from incremental_assets.cli.progress import Board
from incremental_assets.core.config.resolve import Resolved
from incremental_assets.core.errors import Busy
from incremental_assets.core.model.table import TableId
from incremental_assets.core.model.verified import Verified
from incremental_assets.core.planning.report import SyncReport
from incremental_assets.core.ports import Checkpoints, Event, Lease, Ports, Position, Probe

if TYPE_CHECKING:
    from resources.runtime import Runtime


class Watched:
    """What `defs.opened.Opened` asks for. Progress goes to the board, and every report that is recorded is kept by its table."""

    def __init__(self, runtime: Runtime, board: Board) -> None:
        self._runtime, self._board = runtime, board
        self._lock = threading.Lock()
        self.reports: dict[TableId, SyncReport] = {}
        self.busy: dict[TableId, Busy] = {}

    @property
    def checkpoints(self) -> Checkpoints:
        """The memory of what has landed."""
        return Overheard(self._runtime.checkpoints, self)

    @property
    def process(self) -> str:
        """This process."""
        return self._runtime.process

    def has_ended(self, process: str) -> bool:
        """Whether a process is gone."""
        return self._runtime.has_ended(process)

    def probe(self, source: str) -> Probe:
        """Light questions, without Spark."""
        return self._runtime.probe(source)

    def ports(self, source: str) -> Ports:
        """All that a sync needs."""
        return replace(self._runtime.ports(source, self._board), checkpoints=self.checkpoints)

    def specs(self, source: str) -> Resolved:
        """Every table as it is to be synced."""
        return self._runtime.specs(source)

    def foresee(self, whole: Iterable[TableId]) -> None:
        """These tables will be read whole."""
        self._runtime.foresee(whole)

    def heard(self, report: SyncReport) -> None:
        """A sync has ended."""
        with self._lock:
            self.reports[report.table] = report
        self._board.done(report)

    def heard_busy(self, error: Busy, table: TableId) -> None:
        """Another run holds the table."""
        with self._lock:
            self.busy[table] = error


class Overheard:
    """Checkpoints whose leases tell what is recorded under them."""

    def __init__(self, checkpoints: Checkpoints, watched: Watched) -> None:
        self._checkpoints, self._watched = checkpoints, watched

    @contextmanager
    def lease(self, table: TableId, run_id: str) -> Iterator[Lease]:
        """One writer per table."""
        try:
            held = self._checkpoints.lease(table, run_id)
            lease = held.__enter__()
        except Busy as error:
            self._watched.heard_busy(error, table)
            raise
        try:
            yield OverheardLease(lease, self._watched)
        except BaseException as error:
            if not held.__exit__(type(error), error, error.__traceback__):
                raise
        else:
            held.__exit__(None, None, None)

    def position(self, table: TableId) -> Position:
        """Where the table stands."""
        return self._checkpoints.position(table)

    def positions(self) -> dict[TableId, Position]:
        """Where every table stands."""
        return self._checkpoints.positions()

    def remember_verified(self, table: TableId, verified: Verified) -> None:
        """Keep how far a copy was verified."""
        self._checkpoints.remember_verified(table, verified)

    def verified(self) -> dict[TableId, Verified]:
        """How far each was."""
        return self._checkpoints.verified()


class OverheardLease:
    """Records, then tells."""

    def __init__(self, lease: Lease, watched: Watched) -> None:
        self._lease, self._watched = lease, watched

    def record(self, event: Event) -> None:
        """Append one event."""
        self._lease.record(event)
        if event.report is not None:
            self._watched.heard(event.report)
