"""What the captures have in common that look at all rows of a table, now and then."""

from __future__ import annotations

from datetime import datetime

from incremental_assets.core.captures.database.capture import DatabaseCapture
from incremental_assets.core.captures.database.observation import DatabaseObservation
from incremental_assets.core.captures.database.whole import next_look, plan_whole
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.planning.plan import CommitIds, NothingToDo, Request, SyncPlan


class IntervalCapture(DatabaseCapture):
    """Implements `Capture`: all rows, when that is due."""

    turn = "refresh"
    is_whole = True

    def read(
        self, spec: TableSpec, request: Request, state: State | None, commit_ids: CommitIds, seen: DatabaseObservation
    ) -> SyncPlan | NothingToDo:
        """All rows, or NothingToDo before that is due."""
        return plan_whole(spec, request, state, commit_ids, seen)

    def next_look(self, spec: TableSpec, state: State | None) -> datetime | None:
        """An interval after the last."""
        return next_look(spec, state)
