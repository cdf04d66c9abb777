"""The checkpoint table: what has landed, and who may write."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import timedelta
from typing import Protocol

from incremental_assets.core.errors import Busy
from incremental_assets.core.model.kept import Kept
from incremental_assets.core.model.look import Look
from incremental_assets.core.model.objective import Objectives
from incremental_assets.core.model.pause import Pauses
from incremental_assets.core.model.registration import Catalogue, Registered
from incremental_assets.core.model.retention import Pruned
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.model.verified import Verified
from incremental_assets.core.planning.events import Checkpoint, Event, Unmoved

Judge = Callable[[Verified | None, Sequence[Event]], Verified | None]
"""What is verified of a copy, from the last record of it and from what happened since it was looked at."""


class Lease(Protocol):
    """The right to write one table, kept alive by a heartbeat."""

    def record(self, event: Event) -> None:
        """Append one event, only while the lease is ours. A landing changes what is verified of the copy as its report says. Raises LeaseLost."""


class Checkpoints(Protocol):
    """The checkpoint table: what has landed."""

    def lease(self, table: TableId, run_id: str, *, even_paused: bool = False) -> AbstractContextManager[Lease]:
        """One writer per table. Raises Busy, naming the owner, and Paused unless `even_paused`, which is for what a person confirms by name."""

    def position(self, table: TableId) -> Checkpoint:
        """The position of the table."""

    def positions(self) -> dict[TableId, Checkpoint]:
        """The position of every table that has an event, by a few statements for all of them."""

    def other_of(self, app_id: str, table: TableId) -> TableId | None:
        """Another table whose syncs have committed under this name; None where there is none."""

    def position_after(self, table: TableId, run_id: str) -> Checkpoint | None:
        """State and target after the last sync of a run that landed or found nothing to do; None if there is none."""

    def events_since(self, table: TableId, run_id: str) -> tuple[Event, ...]:
        """What was recorded after that, oldest first, less what has been thinned out; nothing if there is no such sync."""

    def record_idle(self, unmoved: Sequence[Unmoved]) -> dict[TableId, Busy | None]:
        """Append the events of tables that stand still, at one moment and without a lease each.

        Gives those of which nothing was recorded: the error where another run holds the table, None where it has moved on since.
        """

    def record_look(self, source: str, look: Look | None) -> None:
        """Keep what a look at a source came to, in place of the one before; None: the source did not answer."""

    def kept(self, slos: Mapping[TableId, Objectives]) -> dict[TableId, Kept]:
        """How each of these tables was kept in the last month, as far as it is recorded; nothing where there is no database."""

    def last_event(self, table: TableId) -> int:
        """The number of its last event; 0 if there is none."""

    def remember_verified(self, table: TableId, after: int, judge: Judge) -> None:
        """Record what `judge` makes of the record so far and of the events behind that number, while nothing is recorded of the table; nothing where that is None."""

    def prune_events(self, keep: timedelta) -> tuple[int, int]:
        """How many events were removed that are older, and how many are only counted from now on; what a later question depends on stays."""

    def record_pruning(self, done: Pruned) -> None:
        """Keep what a table was pruned of, in place of the one before."""

    def record_registration(self, done: Registered) -> None:
        """Keep how a table was made known to a catalogue, or why it could not be, in place of what was before."""

    def registrations(self) -> dict[tuple[TableId, Catalogue], Registered]:
        """What is kept of all tables, in each catalogue."""

    def pauses(self) -> Pauses:
        """Everything that a person has paused."""

    def verified(self) -> dict[TableId, Verified]:
        """The last such record of every table."""
