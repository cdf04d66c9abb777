"""The state of a table after a plan has landed. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace

from incremental_assets.core.captures.database.altered import definition_of
from incremental_assets.core.captures.database.last_read import remembered
from incremental_assets.core.captures.database.reading import covered_below, of_database
from incremental_assets.core.captures.database.stamps import stamps_seen
from incremental_assets.core.model.cursor import CursorValue
from incremental_assets.core.model.definition import Definition
from incremental_assets.core.model.deletes import KeysCompared
from incremental_assets.core.model.fingerprint import Fingerprint
from incremental_assets.core.model.position import UNREAD, Position
from incremental_assets.core.model.schema_change import SchemaChange
from incremental_assets.core.model.state import State
from incremental_assets.core.model.window import Window, merge
from incremental_assets.core.planning.new_columns import unfilled_after
from incremental_assets.core.planning.plan import Mode, SyncPlan


@dataclass(frozen=True, slots=True)
class Shown:
    """What the snapshot of a plan showed; see the port `Snapshot`."""

    rows: int
    highest: CursorValue | None
    fingerprint: Fingerprint | None
    due: CursorValue | None = None
    visible: str = ""
    compared: KeysCompared | None = None
    """The comparison of keys, where they were compared in it."""
    changed: tuple[SchemaChange, ...] = ()
    """What landing it changes of the copy's columns."""


def landed_state(plan: SyncPlan, shown: Shown) -> State:
    """The state after this plan has landed, from what its snapshot showed."""
    before, reading = plan.previous, of_database(plan)
    read = [
        value
        for value in (before.position.max_cursor_read if before and not plan.overwrites else None, shown.highest)
        if value is not None
    ]
    whole = plan.overwrites or not plan.spec.is_incremental
    covered = () if whole or before is None else covered_below(before, reading.new_watermark)
    state = State(
        app_id=plan.commit_ids.app_id,
        seq=plan.commit_ids.seq,
        batch_id=plan.commit_ids.batch_id,
        terms=plan.spec.terms,
        position=Position(reading.new_watermark, max(read, default=None), reading.settled.settling, shown.due),
        fingerprint=shown.fingerprint,
        identity=reading.bound.identity or (before.identity if before else None),
        clock=reading.bound.clock,
        reading=reading.bound.reading,
        put_back=reading.put_back,
        rows=shown.rows if whole else None,
        coverage=merge((*covered, *_covered(plan))),
        members=reading.members,
        zones=reading.zones,
        columns=_columns(plan),
        absent=_absent(plan),
        discarded=plan.spec.discarded,
        changed=shown.changed,
        last_read=remembered(plan, shown.visible),
        compared=_compared(plan, shown),
        unfilled=unfilled_after(plan, shown.changed),
        definition=_definition(plan),
        stamps=stamps_seen(plan.spec, before, reading.doubtful_stamps),
        updates=plan.spec.shape.updates,
    )
    if not plan.request.mode.reads_again or whole:
        return state
    kept = before or replace(
        state,
        position=UNREAD,
        fingerprint=None,
        clock=None,
        reading=None,
        put_back=None,
        members=None,
        last_read=None,
        stamps=None,
    )
    return replace(
        state,
        position=replace(kept.position, max_cursor_read=state.position.max_cursor_read),
        fingerprint=kept.fingerprint,
        clock=kept.clock,
        reading=kept.reading,
        put_back=kept.put_back,
        members=kept.members,
        last_read=kept.last_read,
        stamps=kept.stamps,
    )


def _compared(plan: SyncPlan, shown: Shown) -> KeysCompared | None:
    """A copy that was overwritten holds what the source does."""
    if plan.overwrites:
        return KeysCompared(plan.reading.clock) if plan.spec.deletes.compares else None
    return shown.compared or (plan.previous.compared if plan.previous else None)


def _definition(plan: SyncPlan) -> Definition | None:
    """What is read of a window again leaves the other rows as they were."""
    before = plan.previous
    if plan.request.mode.reads_again and before is not None and not plan.overwrites:
        return before.definition
    return definition_of(plan.spec, None if plan.overwrites else before)


def _columns(plan: SyncPlan) -> tuple[tuple[str, str], ...]:
    """Those that only the target still has keep the identity under which they landed."""
    kept = plan.previous.columns if plan.previous and not plan.overwrites else ()
    here = {column.name: column.identity for column in plan.spec.columns}
    known = {name: identity for name, identity in here.items() if identity}
    return tuple(({**here, **dict(kept), **known}).items())


def _absent(plan: SyncPlan) -> tuple[str, ...]:
    before = plan.previous
    if before is None or plan.overwrites:
        return ()
    here = {column.name.lower() for column in plan.spec.columns}
    names = dict.fromkeys((*before.absent, *dict(before.columns)))
    return tuple(name for name in names if name.lower() not in here)


def _covered(plan: SyncPlan) -> tuple[Window, ...]:
    # These read some rows of their window, in which there may be what no sync has read.
    some = plan.request.mode in (Mode.REPAIR, Mode.FILL)
    if not plan.spec.is_incremental or plan.reading.settled_at is None or some:
        return ()
    return (plan.reading.window.clamp_upper(plan.reading.settled_at),)
