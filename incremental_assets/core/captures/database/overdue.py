"""Did rows come later than the configuration declares of an application's stamps? Pure, from what a sync has landed."""

from __future__ import annotations

from dataclasses import replace

from incremental_assets.core.captures.database.position import position_of
from incremental_assets.core.captures.database.reading import of_database
from incremental_assets.core.captures.database.stamps import declared
from incremental_assets.core.captures.database.windows import lower_end
from incremental_assets.core.model.duration import format_duration
from incremental_assets.core.model.state import State
from incremental_assets.core.planning.plan import SyncPlan
from incremental_assets.core.words import counted


def overdue(plan: SyncPlan, late: int) -> str:
    """What there is to say of rows that landed now, and were stamped below what had settled within the declared span; empty if there are none.

    Where more is read than a sync usually reads, as of a partition that was attached, rows that are new to the copy need not have come late.
    """
    within, cursor, reading = declared(plan.spec), plan.spec.cursor, of_database(plan)
    usual = lower_end(plan.spec, plan.previous_watermark)
    if not late or within is None or cursor is None or reading.late_below is None or reading.window.lower != usual:
        return ""
    return (
        f"{counted(late, 'row')} landed that came later than {format_duration(within)} after {cursor.column!r} had been stamped, which `stamped` declares "
        "as the most: others may have been missed; raise its `within`, `incremental-assets doctor` measures how far"
    )


def exceeded(plan: SyncPlan, state: State) -> State:
    """The state that remembers it, until more is declared."""
    position = position_of(state)
    if position.stamps is None:
        return state
    stamps = replace(position.stamps, exceeded=declared(plan.spec))
    return replace(state, position=replace(position, stamps=stamps))
