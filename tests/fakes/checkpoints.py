"""The checkpoint table in memory: events that are only appended, and leases with a token."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from incremental_assets.core.errors import Busy, LeaseLost, Paused
from incremental_assets.core.model.cures import resume
from incremental_assets.core.model.kept import Kept
from incremental_assets.core.model.look import Look
from incremental_assets.core.model.objective import Objectives
from incremental_assets.core.model.pause import Pause, Pauses
from incremental_assets.core.model.registration import Catalogue, Registered
from incremental_assets.core.model.retention import Pruned
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.model.verified import Verified
from incremental_assets.core.planning.events import Checkpoint, Event, EventKind, Unmoved
from incremental_assets.core.ports.checkpoints import Judge
from tests.fakes.ledger import fold

EXPIRY = 60.0
"""Seconds without a heartbeat after which a lease may be taken."""

_tokens = itertools.count(1)


@dataclass(frozen=True)
class Held:
    """Who holds a table, and until when if no heartbeat follows."""

    token: int
    owner: str
    expires: float


@dataclass
class Memory:
    """What the checkpoint database holds. `clock` is its own; `gone` names owners whose process is known to have ended."""

    events: list[Event] = field(default_factory=list)
    leases: dict[TableId, Held] = field(default_factory=dict)
    verified: dict[TableId, Verified] = field(default_factory=dict)
    looks: dict[str, Look | None] = field(default_factory=dict)
    pauses: list[Pause] = field(default_factory=list)
    kept: dict[TableId, Kept] = field(default_factory=dict)
    prunings: dict[TableId, Pruned] = field(default_factory=dict)
    registrations: dict[tuple[TableId, Catalogue], Registered] = field(default_factory=dict)
    kept_for: timedelta | None = None
    """How long events were last asked to be kept."""
    clock: float = 0.0
    gone: set[str] = field(default_factory=set)


class FakeLease:
    """Alive as long as the table's lease bears its token."""

    def __init__(self, memory: Memory, table: TableId, token: int) -> None:
        self._memory, self._table, self._token = memory, table, token

    @property
    def is_ours(self) -> bool:
        """Whether nobody has taken it."""
        held = self._memory.leases.get(self._table)
        return held is not None and held.token == self._token

    def beat(self) -> None:
        """One heartbeat. Raises LeaseLost."""
        if not self.is_ours:
            raise LeaseLost(self._table)
        held = self._memory.leases[self._table]
        self._memory.leases[self._table] = replace(held, expires=self._memory.clock + EXPIRY)

    def record(self, event: Event) -> None:
        """Append, only while the lease is ours."""
        if not self.is_ours:
            raise LeaseLost(self._table)
        self._memory.events.append(event)
        known = self._memory.verified.get(self._table)
        if event.kind is EventKind.LANDED and known and event.report:
            self._memory.verified[self._table] = event.report.leaves(known)


@dataclass
class FakeCheckpoints:
    """One process's door to the checkpoint database. `alive` says whether that process can still let a lease go."""

    memory: Memory = field(default_factory=Memory)
    owner: str = "host:1"
    alive: Callable[[], bool] = lambda: True

    @contextmanager
    def lease(self, table: TableId, run_id: str, *, even_paused: bool = False) -> Iterator[FakeLease]:
        """Take the table, or say who has it, or has paused it."""
        busy = self._holder(table) if even_paused else self._busy(table)
        if busy is not None:
            raise busy
        token = next(_tokens)
        self.memory.leases[table] = Held(token, self.owner, self.memory.clock + EXPIRY)
        lease = FakeLease(self.memory, table, token)
        try:
            yield lease
        finally:
            if self.alive() and lease.is_ours:
                del self.memory.leases[table]

    def position(self, table: TableId) -> Checkpoint:
        """Where the table stands."""
        return fold([event for event in self.memory.events if event.table == table])

    def positions(self) -> dict[TableId, Checkpoint]:
        """Where every table stands."""
        return {table: self.position(table) for table in {event.table for event in self.memory.events}}

    def other_of(self, app_id: str, table: TableId) -> TableId | None:
        """By the events of the others."""
        events = self.memory.events
        return next((each.table for each in events if each.app_id == app_id and each.table != table), None)

    def position_after(self, table: TableId, run_id: str) -> Checkpoint | None:
        """Folded as far as that."""
        events, ended = self._ended(table, run_id)
        return fold(events[:ended]) if ended else None

    def events_since(self, table: TableId, run_id: str) -> tuple[Event, ...]:
        """All of them."""
        events, ended = self._ended(table, run_id)
        return tuple(events[ended:]) if ended else ()

    def record_idle(self, unmoved: Sequence[Unmoved]) -> dict[TableId, Busy | None]:
        """Append the events of those that nobody holds and that stand where they stood."""
        others: dict[TableId, Busy | None] = {}
        for each in unmoved:
            busy = self._busy(each.table)
            if busy is not None or self.position(each.table) != each.position:
                others[each.table] = busy
            elif each.event is not None:
                self.memory.events.append(each.event)
        return others

    def record_look(self, source: str, look: Look | None) -> None:
        """The last one counts."""
        self.memory.looks[source] = look

    def kept(self, slos: Mapping[TableId, Objectives]) -> dict[TableId, Kept]:
        """What a test says of them."""
        return {table: self.memory.kept[table] for table in slos if table in self.memory.kept}

    def last_event(self, table: TableId) -> int:
        """Events are numbered over all tables."""
        return max((number for number, event in enumerate(self.memory.events, 1) if event.table == table), default=0)

    def remember_verified(self, table: TableId, after: int, judge: Judge) -> None:
        """The last one counts."""
        since = [event for event in self.memory.events[after:] if event.table == table]
        verified = judge(self.memory.verified.get(table), since)
        if verified is not None:
            self.memory.verified[table] = verified

    def verified(self) -> dict[TableId, Verified]:
        """What was last kept of every table."""
        return dict(self.memory.verified)

    def _ended(self, table: TableId, run_id: str) -> tuple[list[Event], int]:
        """The events of the table, and how many there are up to the end of the run; 0 where it never ended one."""
        events = [event for event in self.memory.events if event.table == table]
        ended = (EventKind.LANDED, EventKind.IDLE)
        places = (place for place, each in enumerate(events, 1) if each.run_id == run_id and each.kind in ended)
        return events, max(places, default=0)

    def prune_events(self, keep: timedelta) -> tuple[int, int]:
        """Events have no time here."""
        self.memory.kept_for = keep
        return 0, 0

    def record_registration(self, done: Registered) -> None:
        """With the time, which is the machine's here."""
        self.memory.registrations[done.table, done.kind] = replace(done, at=datetime.now(UTC))

    def registrations(self) -> dict[tuple[TableId, Catalogue], Registered]:
        """Of all tables."""
        return dict(self.memory.registrations)

    def record_pruning(self, done: Pruned) -> None:
        """The last one counts."""
        self.memory.prunings[done.table] = done

    def pauses(self) -> Pauses:
        """All of them."""
        return Pauses(self.memory.pauses)

    def _busy(self, table: TableId) -> Busy | None:
        pause = self.pauses().of(table)
        return self._holder(table) if pause is None else Paused(table, pause.sentence, resume(pause))

    def _holder(self, table: TableId) -> Busy | None:
        held = self.memory.leases.get(table)
        if held is None or held.expires <= self.memory.clock or held.owner in self.memory.gone:
            return None
        return Busy(table, held.owner)

    def kinds(self, table: TableId) -> list[str]:
        """The story of one table, event by event."""
        return [str(event.kind) for event in self.memory.events if event.table == table]
