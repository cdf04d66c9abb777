"""A capture as another package would write it: events of a log in memory, with offsets as its position. It knows no capture of databases.

Everything that it takes is here: its values, the capture, and a source that is a log.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar, Self

from incremental_assets.core.captures.capture import Observation, Read
from incremental_assets.core.captures.landed import landed
from incremental_assets.core.errors import SelectionError, SourceRefused
from incremental_assets.core.model.cursor import CursorValue
from incremental_assets.core.model.guarantee import Guarantee, Promise
from incremental_assets.core.model.observe_request import ObserveRequest
from incremental_assets.core.model.position import Position
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import Column, Fidelity, Strategy, TableId, TableShape, TableSpec
from incremental_assets.core.model.window import EVERYTHING, Window
from incremental_assets.core.planning.plan import CommitIds, NothingToDo, Request, SyncPlan
from incremental_assets.core.planning.preflight import check_terms
from incremental_assets.core.planning.reading import Reading
from incremental_assets.core.planning.report import SyncReport
from tests.fakes.rows import Row

EVENTS = TableId("shop", "log", "orders")
REASON = "complete as far as the log was delivered"


def _column(name: str, kind: str) -> Column:
    return Column(name, kind, kind, Fidelity.EXACT, nullable=False)


def events(strategy: Strategy) -> TableSpec:
    """The table of the log: each event by its offset, or the last one of each order."""
    key = ("offset",) if strategy is Strategy.APPEND else ("id",)
    columns = (_column("offset", "bigint"), _column("id", "bigint"), _column("status", "string"))
    shape = TableShape(id=EVENTS, columns=columns, primary_key=key)
    return TableSpec(shape=shape, strategy=strategy, key=key, key_enforced=True, capture="events")


# --- the values that nobody else takes apart ---------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Offset(Position):
    """The next event to read."""

    capture: ClassVar[str] = "events"
    next: int = 0

    def rewound(self, watermark: CursorValue | None, *, same_cursor: bool) -> Self:
        """A log has no watermark: it is read from its beginning again."""
        return replace(self, next=0)

    def forgotten(self) -> Self:
        """From its beginning."""
        return replace(self, next=0)

    def to_json(self) -> dict[str, Any]:
        """One number."""
        return {"position": {"next": self.next}}

    def __str__(self) -> str:
        return f"offset {self.next}"


@dataclass(frozen=True, slots=True)
class Seen:
    """Where the log ends. A later look finds more, and reads what was found here just as well."""

    end: int
    clock: datetime
    suffices: bool = True
    highest: None = None

    def elsewhere(self) -> Self:
        """Nothing in it depends on a position."""
        return self


@dataclass(frozen=True, slots=True, kw_only=True)
class Events(Reading):
    """A closed range of offsets."""

    first: int
    end: int
    at: datetime

    @property
    def promise(self) -> Promise:
        """As it was delivered."""
        return Promise(Guarantee.AS_DELIVERED, REASON)

    @property
    def clock(self) -> datetime:
        """That of the look."""
        return self.at


def range_of(plan: SyncPlan) -> Events:
    """The range of a plan that this capture has made."""
    assert isinstance(plan.reading, Events)
    return plan.reading


class EventCapture:
    """Implements `Capture`."""

    words = "read by its offsets"
    turn = "sync"
    is_whole = False
    finds_differing = False

    def plan(
        self, spec: TableSpec, request: Request, state: State | None, commit_ids: CommitIds, observation: Observation
    ) -> SyncPlan | NothingToDo:
        """From the position to the end that was seen."""
        assert isinstance(observation, Seen)
        if not request.mode.reads_again:
            check_terms(spec, state)
        again = request.mode.reads_again or request.mode.value == "full_refresh"
        first = 0 if state is None or again else _next(state)
        if state is not None and first >= observation.end and not again:
            return NothingToDo("no event came", Guarantee.AS_DELIVERED, REASON, None, None)
        return SyncPlan(
            spec, request, commit_ids, Events(first=first, end=observation.end, at=observation.clock), state
        )

    def window(self, spec: TableSpec, request: Request, state: State | None, observation: Observation) -> Window:
        """Offsets are no cursor."""
        return EVERYTHING

    def noticed(self, plan: SyncPlan) -> State | None:
        """A log shows again whatever it has shown."""
        return None

    def accepted(self, plan: SyncPlan, snapshot: object) -> SyncPlan:
        """Every event of the range is there, or nothing of it is read."""
        assert isinstance(snapshot, EventSnapshot)
        reading = range_of(plan)
        if snapshot.offsets != tuple(range(reading.first, reading.end)):
            raise SourceRefused(f"{plan.spec.id}: the log no longer has every event from {reading.first} on")
        return plan

    def landed(self, plan: SyncPlan, read: Read) -> State:
        """The next offset is that behind the range; one that was read again moves nothing."""
        before = plan.previous.position if plan.previous and plan.request.mode.reads_again else None
        return landed(plan, before or Offset(range_of(plan).end), read)

    def judged(self, plan: SyncPlan, report: SyncReport, state: State) -> tuple[SyncReport, State]:
        """Nothing more."""
        return report, state

    def position(self, document: Mapping[str, Any]) -> Offset:
        """The number."""
        return Offset(document["position"]["next"])

    def is_news(self, spec: TableSpec, seen: Observation, found: NothingToDo, state: State | None) -> bool:
        """An end that stays is none."""
        return False

    def moved(self, spec: TableSpec, state: State) -> State:
        """Offsets of one log are none of another's."""
        raise SelectionError(f"{spec.id}: another log has other offsets")

    def counted_by(self, spec: TableSpec) -> None:
        """It has no cursor."""
        return

    def next_look(self, spec: TableSpec, state: State | None) -> datetime | None:
        """At any time."""
        return None


CAPTURE = EventCapture()


def _next(state: State) -> int:
    assert isinstance(state.position, Offset)
    return state.position.next


# --- the log ------------------------------------------------------------------------------------------------


@dataclass
class EventLog:
    """Events that are only added, at the end; the oldest may be trimmed."""

    statuses: list[tuple[int, str]] = field(default_factory=list)
    trimmed: int = 0
    clock: datetime = datetime(2024, 1, 29, 9, tzinfo=UTC)

    def add(self, order: int, status: str) -> None:
        """One event, a second later."""
        self.statuses.append((order, status))
        self.clock += timedelta(seconds=1)

    def rows(self, first: int = 0, end: int | None = None) -> list[Row]:
        """The events of a range, as far as they are still there."""
        told = [{"offset": at, "id": order, "status": status} for at, (order, status) in enumerate(self.statuses)]
        return told[max(first, self.trimmed) : end]


def kept(spec: TableSpec, rows: Sequence[Row]) -> list[Row]:
    """What lands of events: each, or the last of each order."""
    return list({tuple(row[name] for name in spec.key): row for row in rows}.values())


@dataclass(frozen=True)
class EventSnapshot:
    """The events of a closed range, which are what they are whenever they are read; of an upsert the last of each order."""

    offsets: tuple[int, ...]
    frame: list[Row]
    rejected: int = 0
    parts: None = None
    keys: None = None
    sought: None = None

    @property
    def rows(self) -> int:
        """As many as land."""
        return len(self.frame)


@dataclass
class EventProbe:
    """Two questions: where the log ends, and for how long."""

    log: EventLog

    def observe(self, looks: Sequence[ObserveRequest]) -> tuple[Seen, ...]:
        """One end for all."""
        return tuple(Seen(len(self.log.statuses), self.log.clock) for _ in looks)

    def lag(self, looks: Sequence[ObserveRequest]) -> tuple[float, ...]:
        """A second for each event that has not landed."""
        return tuple(float(len(self.log.statuses) - (_next(look.state) if look.state else 0)) for look in looks)


@dataclass
class EventSource:
    """Reads the range of a plan."""

    log: EventLog

    @contextmanager
    def snapshot(self, plan: SyncPlan) -> Iterator[EventSnapshot]:
        """A closed range needs nothing to be held."""
        reading = range_of(plan)
        told = self.log.rows(reading.first, reading.end)
        yield EventSnapshot(
            tuple(at for at in range(reading.first, reading.end) if at >= self.log.trimmed), kept(plan.spec, told)
        )
