"""What the captures have in common that follow a column of a table: by its values, or by the transactions that wrote them."""

from __future__ import annotations

from dataclasses import replace

from incremental_assets.core.captures.capture import Observation
from incremental_assets.core.captures.database.altered import of_comparison
from incremental_assets.core.captures.database.by_cursor import plan_by_cursor
from incremental_assets.core.captures.database.capture import DatabaseCapture
from incremental_assets.core.captures.database.loading import UNDER_WAY, loading_of
from incremental_assets.core.captures.database.observation import DatabaseObservation, seen_of
from incremental_assets.core.captures.database.overdue import exceeded, overdue
from incremental_assets.core.captures.database.standing_still import idle
from incremental_assets.core.captures.database.windows import reading
from incremental_assets.core.model.guarantee import Guarantee
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import Cursor, TableSpec, cursor_of
from incremental_assets.core.model.window import Window
from incremental_assets.core.planning.plan import CommitIds, NothingToDo, Request, SyncPlan
from incremental_assets.core.planning.report import SyncReport


class FollowingCapture(DatabaseCapture):
    """Implements `Capture`: rows above the watermark are read, as far as they have settled or may be read again."""

    words = "read by its cursor"

    def read(
        self, spec: TableSpec, request: Request, state: State | None, commit_ids: CommitIds, seen: DatabaseObservation
    ) -> SyncPlan:
        """Rows from the watermark on, or those of the window that is asked for."""
        return plan_by_cursor(spec, request, state, commit_ids, seen)

    def idle(self, plan: SyncPlan, seen: DatabaseObservation) -> NothingToDo | None:
        """Where a fingerprint of what would be read is the one that was kept."""
        return idle(plan, seen)

    def window(self, spec: TableSpec, request: Request, state: State | None, observation: Observation) -> Window:
        """From the watermark on."""
        return reading(spec, request, state, seen_of(observation))

    def counted_by(self, spec: TableSpec) -> Cursor | None:
        """The one that it follows."""
        return spec.read_by

    def judged(self, plan: SyncPlan, report: SyncReport, state: State) -> tuple[SyncReport, State]:
        """What a comparison after an alteration came to, and whether rows came later than the configuration declares."""
        if loading_of(state) is not None:
            return replace(report, guarantee=Guarantee.BEST_EFFORT, guarantee_reason=UNDER_WAY), state
        report = replace(report, warnings=(*report.warnings, *of_comparison(plan, report.rows)))
        broken = overdue(plan, report.rows)
        return (report.lowered(broken), exceeded(plan, state)) if broken else (report, state)

    def is_news(self, spec: TableSpec, seen: Observation, found: NothingToDo, state: State | None) -> bool:
        """The watermark of a time cursor moves with the clock and is no news: the kept one is lower, so that a clock which is put back loses nothing by it.

        That it went back with the clock is news, that numbers have settled, and that a fingerprint may begin higher: else the next sync would read
        again, and every look count again, all that the last sync read.
        """
        if found.state is None:
            return False
        before, after = found.previous_watermark, found.state.position.watermark
        went_back = before is not None and after is not None and after < before
        numbers = not cursor_of(spec).type.is_time
        narrowed = seen_of(seen).narrowed is not None
        return numbers or went_back or narrowed or super().is_news(spec, seen, found, state)
