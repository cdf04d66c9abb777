"""What the captures of a database have in common."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from incremental_assets.core.captures.capture import Observation, Read
from incremental_assets.core.captures.database.landed_state import landed_state
from incremental_assets.core.captures.database.loading import kept, went_on
from incremental_assets.core.captures.database.observation import DatabaseObservation, seen_of
from incremental_assets.core.captures.database.position import DatabasePosition
from incremental_assets.core.captures.database.preflight import (
    check_identity,
    check_nulls,
    check_shown,
    check_zone,
    lags_behind,
)
from incremental_assets.core.captures.database.reading import noticed, of_database
from incremental_assets.core.captures.database.snapshot import shown_by
from incremental_assets.core.captures.database.stamps import restamped
from incremental_assets.core.captures.database.zones import rezoned, rezoned_warning
from incremental_assets.core.model.guarantee import Guarantee
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import Cursor, TableSpec
from incremental_assets.core.model.window import EVERYTHING, Window
from incremental_assets.core.planning.plan import CommitIds, Mode, NothingToDo, Request, SyncPlan
from incremental_assets.core.planning.preflight import check_terms
from incremental_assets.core.planning.report import SyncReport


class DatabaseCapture:
    """Implements `Capture` of a table that is read as a whole; each capture says what it reads."""

    words = ""
    gone = ""
    turn = "sync"
    is_whole = False
    finds_differing = False
    tells_changes = False

    def plan(
        self, spec: TableSpec, request: Request, state: State | None, commit_ids: CommitIds, observation: Observation
    ) -> SyncPlan | NothingToDo:
        """Is it the same source, and on the same terms? Then what is read, unless nothing would be new."""
        seen = seen_of(observation)
        bound = seen.bound
        if not request.mode.reads_again:
            state = went_on(state)
        check_identity(spec, request, state, bound)
        if request.mode is not Mode.FULL_REFRESH:  # else everything is read again
            check_terms(spec, state)
        check_zone(spec, bound)
        check_shown(spec, seen)
        known = restamped(spec, rezoned(spec, state, bound))
        if request.mode is Mode.SYNC and (lag := lags_behind(known, bound)):
            mark = known.position.watermark if known else None
            promise = (Guarantee.BEST_EFFORT, lag)
            return NothingToDo("the replica lags behind", *promise, None, mark, warnings=(lag,), is_behind=True)
        planned = self.read(spec, request, known, commit_ids, seen)
        if isinstance(planned, NothingToDo):
            return planned
        planned = replace(planned, warnings=(*planned.warnings, *rezoned_warning(spec, state, known)))
        return self.idle(planned, seen) or planned

    def read(
        self, spec: TableSpec, request: Request, state: State | None, commit_ids: CommitIds, seen: DatabaseObservation
    ) -> SyncPlan | NothingToDo:
        """What is read; NothingToDo where it is not yet due."""
        raise NotImplementedError

    def idle(self, plan: SyncPlan, seen: DatabaseObservation) -> NothingToDo | None:
        """What is said instead of a plan that would read nothing new."""
        return None

    def window(self, spec: TableSpec, request: Request, state: State | None, observation: Observation) -> Window:
        """All rows."""
        return EVERYTHING

    def noticed(self, plan: SyncPlan) -> State | None:
        """That the source's clock was put back."""
        found = noticed(plan)
        return kept(found) if found else None

    def accepted(self, plan: SyncPlan, snapshot: object) -> SyncPlan:
        """Rows without a cursor may not be there; what is warned of depends on when the snapshot was taken."""
        found = shown_by(snapshot)
        check_nulls(plan, found.nulls)
        return replace(plan, reading=replace(of_database(plan), waited=found.waited))

    def landed(self, plan: SyncPlan, read: Read) -> State:
        """By what the snapshot showed."""
        return landed_state(plan, read)

    def judged(self, plan: SyncPlan, report: SyncReport, state: State) -> tuple[SyncReport, State]:
        """Nothing more."""
        return report, state

    def position(self, document: Mapping[str, Any]) -> DatabasePosition:
        """As every release has written it."""
        return DatabasePosition.from_json(document)

    def is_news(self, spec: TableSpec, seen: Observation, found: NothingToDo, state: State | None) -> bool:
        """That the catalogue says something else of the table."""
        return found.state is not None and (state is None or state.definition != found.state.definition)

    def moved(self, spec: TableSpec, state: State) -> State:
        """Its watermark is as good there."""
        return state.moved_to_another_cluster()

    def counted_by(self, spec: TableSpec) -> Cursor | None:
        """None."""
        return None

    def next_look(self, spec: TableSpec, state: State | None) -> datetime | None:
        """At any time."""
        return None
