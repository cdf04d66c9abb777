"""Did rows come later than the configuration declares of an application's stamps? Pure, from what a sync has landed."""

from __future__ import annotations

from dataclasses import replace

from incremental_assets.core.captures.database.position import position_of
from incremental_assets.core.captures.database.reading import of_database
from incremental_assets.core.captures.database.stamps import declared
from incremental_assets.core.captures.database.windows import lower_end
from incremental_assets.core.model.duration import format_duration
from incremental_assets.core.model.state import State
from incremental_assets.core.model.window import gaps
from incremental_assets.core.planning.plan import Mode, SyncPlan
from incremental_assets.core.planning.report import RowCounts
from incremental_assets.core.words import counted


def overdue(plan: SyncPlan, rows: RowCounts) -> str:
    """What there is to say of rows that landed now, or went to quarantine, and were stamped below what had settled within the declared span; empty if there are none."""
    within, cursor = declared(plan.spec), plan.spec.cursor
    late = _new_rows(plan, rows)
    if not late or within is None or cursor is None:
        return ""
    return (
        f"{counted(late, 'row')} came later than {format_duration(within)} after {cursor.column!r} had been stamped, which `stamped` declares "
        "as the most: others may have been missed; raise its `within`, `incremental-assets doctor` measures how far"
    )


def _new_rows(plan: SyncPlan, rows: RowCounts) -> int:
    """Of a sync those that it calls late. Where more is read than a sync usually reads, as of a partition that was attached, rows that are new to the copy need not have come late.

    Of a repair or a backfill of what had landed and settled, all that the copy did not have: a sync had read there, and they were not there.
    """
    reading, previous = of_database(plan), plan.previous
    if reading.late_below is not None and reading.window.lower == lower_end(plan.spec, plan.previous_watermark):
        return rows.late
    if plan.request.mode not in (Mode.REPAIR, Mode.BACKFILL) or previous is None:
        return 0
    # What a contract has held lands when the contract is altered, and had come in time.
    if plan.spec.contract is not None or not plan.spec.traits.one_row_per_key:
        return 0
    mark = position_of(previous).watermark
    settled = [] if mark is None else [each.clamp_upper(mark) for each in position_of(previous).coverage]
    return 0 if gaps(settled, reading.window) else rows.inserted


def exceeded(plan: SyncPlan, state: State) -> State:
    """The state that remembers it, until more is declared."""
    position = position_of(state)
    if position.stamps is None:
        return state
    stamps = replace(position.stamps, exceeded=declared(plan.spec))
    return replace(state, position=replace(position, stamps=stamps))
