"""The capture: its position, its observation, its reading, and what it decides of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, ClassVar, Protocol, Self

from incremental_assets.core.captures.capture import Observation, Read
from incremental_assets.core.captures.landed import landed
from incremental_assets.core.errors import SelectionError, SourceExchanged, SourceRefused
from incremental_assets.core.model.cures import full_refresh
from incremental_assets.core.model.cursor import CursorValue
from incremental_assets.core.model.guarantee import Guarantee, Promise
from incremental_assets.core.model.moment import Free
from incremental_assets.core.model.position import Position
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.window import EVERYTHING, Window
from incremental_assets.core.planning.plan import CommitIds, Mode, NothingToDo, Request, SyncPlan
from incremental_assets.core.planning.preflight import check_terms
from incremental_assets.core.planning.reading import Reading
from incremental_assets.core.planning.report import SyncReport

REASON = "complete as far as the log was delivered"


@dataclass(frozen=True, slots=True)
class Offsets(Position):
    """The next event of each partition."""

    capture: ClassVar[str] = "events"
    next: tuple[int, ...] = ()

    def rewound(self, watermark: CursorValue | None, *, same_cursor: bool) -> Self:
        """A log has no watermark: it is read from its beginning again."""
        return replace(self, next=())

    def forgotten(self) -> Self:
        """From its beginning."""
        return replace(self, next=())

    def to_json(self) -> dict[str, Any]:
        """A number for each partition."""
        return {"position": {"next": self.next}}

    def __str__(self) -> str:
        return f"the offsets {', '.join(map(str, self.next))}" if self.next else "the beginning of the log"


@dataclass(frozen=True, slots=True)
class Seen:
    """Where the log ends. A later look finds more, and reads what was found here just as well."""

    ends: tuple[int, ...]
    bound: Free
    suffices: bool = True
    highest: None = None

    def elsewhere(self) -> Self:
        """Nothing in it depends on a position."""
        return self


@dataclass(frozen=True, slots=True)
class Range:
    """A closed range of one partition."""

    partition: int
    first: int
    end: int

    @property
    def offsets(self) -> tuple[int, ...]:
        """All that are in it."""
        return tuple(range(self.first, self.end))


@dataclass(frozen=True, slots=True, kw_only=True)
class Events(Reading):
    """A closed range of each partition."""

    ranges: tuple[Range, ...]
    at: datetime

    @property
    def promise(self) -> Promise:
        """As it was delivered."""
        return Promise(Guarantee.AS_DELIVERED, REASON)

    @property
    def clock(self) -> datetime:
        """That of the look."""
        return self.at

    @property
    def behind(self) -> str:
        """The offsets at which the ranges begin, once any event was read."""
        begin = Offsets(tuple(each.first for each in self.ranges))
        return str(begin) if any(begin.next) else ""


class ShowsOffsets(Protocol):
    """What a snapshot of a log shows beside its rows."""

    @property
    def offsets(self) -> Mapping[int, tuple[int, ...]]:
        """Of each partition the events that it has of the range."""


class EventCapture:
    """Implements `Capture`."""

    words = "read by its offsets"
    gone = "an event says so"
    turn = "sync"
    is_whole = False
    finds_differing = False
    tells_changes = False

    def plan(
        self, spec: TableSpec, request: Request, state: State | None, commit_ids: CommitIds, observation: Observation
    ) -> SyncPlan | NothingToDo:
        """From the position to the ends that were seen."""
        assert isinstance(observation, Seen)
        again = request.mode.reads_again or request.mode is Mode.FULL_REFRESH
        if not again:
            check_terms(spec, state)
        begin = () if state is None or again else offsets_of(state).next
        if len(observation.ends) < len(begin) or any(
            end < first for first, end in zip(begin, observation.ends, strict=False)
        ):
            raise SourceExchanged(
                f"{spec.id}: the log ends before the events that were read of it, as one that was made anew; load the table again with {full_refresh(spec)}"
            )
        begin = (*begin, *(0 for _ in observation.ends[len(begin) :]))
        if state is not None and not again and begin == observation.ends:
            return NothingToDo("no event came", Guarantee.AS_DELIVERED, REASON, None, None)
        ranges = tuple(Range(*each) for each in zip(range(len(begin)), begin, observation.ends, strict=True))
        return SyncPlan(spec, request, commit_ids, Events(ranges=ranges, at=observation.bound.clock), state)

    def window(self, spec: TableSpec, request: Request, state: State | None, observation: Observation) -> Window:
        """Offsets are no cursor."""
        return EVERYTHING

    def noticed(self, plan: SyncPlan) -> State | None:
        """A log shows again whatever it has shown."""
        return None

    def accepted(self, plan: SyncPlan, snapshot: object) -> SyncPlan:
        """Every event of the ranges is there, or nothing of them is read."""
        for each in ranges_of(plan):
            if shown_by(snapshot).get(each.partition, ()) != each.offsets:
                raise SourceRefused(
                    f"{plan.spec.id}: partition {each.partition} of the log no longer has every event from {each.first} on"
                )
        return plan

    def landed(self, plan: SyncPlan, read: Read) -> State:
        """The next offsets are those behind the ranges; what was read again moves nothing."""
        before = plan.previous.position if plan.previous and plan.request.mode.reads_again else None
        return landed(plan, before or Offsets(tuple(each.end for each in ranges_of(plan))), read)

    def judged(self, plan: SyncPlan, report: SyncReport, state: State) -> tuple[SyncReport, State]:
        """Nothing more."""
        return report, state

    def position(self, document: Mapping[str, Any]) -> Offsets:
        """The numbers."""
        return Offsets(tuple(document["position"]["next"]))

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


def ranges_of(plan: SyncPlan) -> tuple[Range, ...]:
    """The ranges of a plan that this capture has made."""
    assert isinstance(plan.reading, Events)
    return plan.reading.ranges


def offsets_of(state: State) -> Offsets:
    """The position that this capture has left."""
    assert isinstance(state.position, Offsets)
    return state.position


def shown_by(snapshot: Any) -> Mapping[int, tuple[int, ...]]:
    """The offsets that a snapshot of this source shows."""
    shows: ShowsOffsets = snapshot
    return shows.offsets


CAPTURE = EventCapture()
