"""Capture by a topic: closed ranges of offsets, which one commit carries with their rows. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from incremental_assets.core.captures.capture import Observation, Read
from incremental_assets.core.captures.landed import landed
from incremental_assets.core.captures.topic.observation import TopicSeen
from incremental_assets.core.captures.topic.position import Log, TopicPosition
from incremental_assets.core.captures.topic.ranges import ahead, everything
from incremental_assets.core.captures.topic.reading import (
    TAKEN_AGAIN,
    Range,
    TopicReading,
    of_topic,
    promise_of,
    shown_by_topic,
)
from incremental_assets.core.captures.topic.stops import check_readable, check_same
from incremental_assets.core.errors import SelectionError
from incremental_assets.core.model.cures import full_refresh, reset
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import Cursor, TableSpec
from incremental_assets.core.model.window import EVERYTHING, Window
from incremental_assets.core.planning.plan import CommitIds, Mode, NothingToDo, Request, SyncPlan
from incremental_assets.core.planning.preflight import check_terms
from incremental_assets.core.planning.report import SyncReport
from incremental_assets.core.words import counted


class TopicCapture:
    """Implements `Capture`."""

    words = "read from its topic"
    gone = "a record says so"
    turn = "sync"
    is_whole = False
    finds_differing = False
    tells_changes = False

    def plan(
        self, spec: TableSpec, request: Request, state: State | None, commit_ids: CommitIds, observation: Observation
    ) -> SyncPlan | NothingToDo:
        """From the offsets of the position to the ends that were seen, or to as many records as one sync takes."""
        if not isinstance(observation, TopicSeen):
            raise TypeError(f"{spec.id}: nobody has looked at its topic")
        check_readable(spec, observation)
        anew = state is None or request.mode is Mode.FULL_REFRESH
        if not anew and not request.mode.reads_again:
            check_terms(spec, state)
        at = TopicPosition() if anew else _position(state)
        check_same(spec, at, observation)
        ranges, waiting = self._ranges(request, at, observation)
        if state is not None and not anew and not request.mode.reads_again and not any(each.size for each in ranges):
            promise = promise_of(at.log)
            return NothingToDo("no record came", promise.guarantee, promise.reason, None, None)
        warnings = (f"{counted(waiting, 'offset')} of the topic more are read by the next syncs",) if waiting else ()
        reading = TopicReading(
            ranges=ranges,
            topic=observation.topic,
            id=observation.id,
            cluster=observation.cluster,
            at=observation.bound.clock,
            log=Log() if anew else at.log,
            begins_anew=anew,
        )
        return SyncPlan(spec, request, commit_ids, reading, state, warnings)

    def _ranges(self, request: Request, at: TopicPosition, seen: TopicSeen) -> tuple[tuple[Range, ...], int]:
        if request.mode.reads_again and at.next:
            # What has not landed yet is the next sync's.
            return everything(seen, at.next), 0
        if request.mode is Mode.FULL_REFRESH:
            return everything(seen), 0
        return ahead(at.next, seen)

    def window(self, spec: TableSpec, request: Request, state: State | None, observation: Observation) -> Window:
        """Offsets are no cursor."""
        return EVERYTHING

    def noticed(self, plan: SyncPlan) -> State | None:
        """A topic shows again whatever it has shown."""
        return None

    def accepted(self, plan: SyncPlan, snapshot: object) -> SyncPlan:
        """Whoever has read it has seen to it that each range was read to its end."""
        return plan

    def landed(self, plan: SyncPlan, read: Read) -> State:
        """The next offsets are those behind the ranges; what was read again moves nothing."""
        reading = of_topic(plan)
        before = _position(plan.previous) if plan.previous and plan.request.mode.reads_again else None
        if before is not None and before.next:
            return landed(plan, before, read)
        log = shown_by_topic(read.snapshot).log
        ends = tuple(each.end for each in reading.ranges)
        return landed(plan, TopicPosition(ends, reading.id, reading.cluster, log), read)

    def judged(self, plan: SyncPlan, report: SyncReport, state: State) -> tuple[SyncReport, State]:
        """The records may have told of another snapshot, which is said at length once."""
        log = _position(state).log
        if not log.is_taken_again or of_topic(plan).log.is_taken_again:
            return report, state
        told = (
            f"{TAKEN_AGAIN}; unless it was asked for while the log was read on (a blocking snapshot), delete the records before that snapshot from the topic (`kafka-delete-records`), "
            f"and load the table again with {full_refresh(plan.spec)}"
        )
        return replace(report, guarantee_reason=promise_of(log).reason, warnings=(*report.warnings, told)), state

    def position(self, document: Mapping[str, Any]) -> TopicPosition:
        """Its own."""
        return TopicPosition.from_json(document)

    def is_news(self, spec: TableSpec, seen: Observation, found: NothingToDo, state: State | None) -> bool:
        """An end that stays is none."""
        return False

    def moved(self, spec: TableSpec, state: State) -> State:
        """Raises SelectionError: the offsets of one cluster are none of another's."""
        raise SelectionError(
            f"{spec.id}: {state.position} are offsets of one topic, and none of another's; load the table again with {reset(spec)}"
        )

    def counted_by(self, spec: TableSpec) -> Cursor | None:
        """It has no cursor."""
        return None

    def next_look(self, spec: TableSpec, state: State | None) -> datetime | None:
        """At any time."""
        return None


def _position(state: State | None) -> TopicPosition:
    # Under other terms it is only asked for where everything is read again.
    return state.position if state is not None and isinstance(state.position, TopicPosition) else TopicPosition()
