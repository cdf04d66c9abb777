"""The state of a table after a plan has landed. Pure."""

from __future__ import annotations

from dataclasses import replace

from incremental_assets.core.captures.capture import Read
from incremental_assets.core.captures.database.last_read import remembered
from incremental_assets.core.captures.database.loading import after_part, kept
from incremental_assets.core.captures.database.position import DatabasePosition, position_of
from incremental_assets.core.captures.database.reading import of_database
from incremental_assets.core.captures.database.snapshot import DatabaseSnapshot, shown_by
from incremental_assets.core.captures.database.stamps import stamps_seen
from incremental_assets.core.captures.landed import landed
from incremental_assets.core.model.state import State
from incremental_assets.core.model.window import Window, merge
from incremental_assets.core.planning.plan import Mode, SyncPlan


def landed_state(plan: SyncPlan, read: Read) -> State:
    """The state after this plan has landed, from what its snapshot showed."""
    position, again = _position(plan, shown_by(read.snapshot)), plan.request.mode.reads_again
    if again and not (plan.overwrites or plan.reading.is_whole):
        position = _left_there(plan.previous, position)
    reading = of_database(plan)
    if not reading.ranges:
        return landed(plan, position, read)
    state, before = landed(plan, after_part(plan, reading, position, read.rows), read), plan.previous
    if before is None:
        return kept(state)
    # What is altered meanwhile has still to be compared with what landed before it.
    return kept(replace(state, clock=before.clock, definition=before.definition))


def _position(plan: SyncPlan, shown: DatabaseSnapshot) -> DatabasePosition:
    """How far it has read."""
    before, reading = position_of(plan.previous), of_database(plan)
    known = (None if plan.overwrites else before.max_cursor_read, shown.highest)
    read = [value for value in known if value is not None]
    covered = () if plan.overwrites or reading.is_whole else before.covered_below(reading.new_watermark)
    return DatabasePosition(
        watermark=reading.new_watermark,
        max_cursor_read=max(read, default=None),
        settling=reading.settled.settling,
        due=shown.due,
        fingerprint=shown.fingerprint,
        reading=reading.bound.reading,
        put_back=reading.put_back,
        coverage=merge((*covered, *_covered(plan))),
        members=reading.members,
        zones=reading.zones,
        last_read=remembered(plan, shown.visible),
        stamps=stamps_seen(plan.spec, plan.previous, reading.doubtful_stamps),
        updates=plan.spec.shape.updates,
    )


def _left_there(before: State | None, read: DatabasePosition) -> DatabasePosition:
    """What is read of a window again moves no watermark, and nothing that belongs to one."""
    kept = position_of(before)
    zones, coverage, updates = read.zones, read.coverage, read.updates
    loading = kept.loading and replace(kept.loading, alone=False)
    left = replace(kept, coverage=coverage, zones=zones, updates=updates, loading=loading)
    return replace(left, max_cursor_read=read.max_cursor_read)


def _covered(plan: SyncPlan) -> tuple[Window, ...]:
    # These read some rows of their window, in which there may be what no sync has read.
    some = plan.request.mode in (Mode.REPAIR, Mode.FILL)
    if plan.reading.is_whole or plan.reading.settled_at is None or some:
        return ()
    return (plan.reading.window.clamp_upper(plan.reading.settled_at),)
