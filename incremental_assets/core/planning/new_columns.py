"""Columns that come after rows have landed: what is left to be read of them. Pure."""

from __future__ import annotations

from incremental_assets.core.model.cursor import CursorValue
from incremental_assets.core.model.schema_change import Change, SchemaChange
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.unfilled import Unfilled
from incremental_assets.core.planning.plan import Mode, SyncPlan

_CAME = (Change.ADDED, Change.RETURNED)


def new_columns(spec: TableSpec, state: State) -> tuple[str, ...]:
    """Those that the next sync brings though no row may have moved: a default fills a column at once and stamps no row."""
    if not (spec.fills and spec.evolve and state.columns):
        return ()
    absent = {name.lower() for name in state.absent}
    landed = {name.lower() for name, _ in state.columns} - absent
    return tuple(name for name in spec.shape.names if name.lower() not in landed)


def unfilled_after(plan: SyncPlan, changed: tuple[SchemaChange, ...]) -> Unfilled | None:
    """What is left to be filled once a plan has landed that changed these columns."""
    before = plan.previous.unfilled if plan.previous else None
    if plan.overwrites or not plan.spec.fills or plan.previous is None or plan.reading.finds_differing:
        # A comparison reads every row in which a value is missing.
        return None
    here = {name.lower() for name in plan.spec.shape.names}
    if before is not None and plan.request.mode is Mode.FILL:
        return before.after(plan.reading.window)
    if before is not None and not any(name.lower() in here for name in before.columns):
        before = None
    came = tuple(change.column for change in changed if change.change in _CAME)
    # A window that is read again may end anywhere; what a sync reads has no end.
    below = plan.reading.whole_from if plan.request.mode is Mode.SYNC else None
    if not came or (plan.request.mode is Mode.SYNC and below is None):
        return before
    lowest = _lowest(plan.spec, plan.previous)
    return before.joined(came, below, lowest) if before else Unfilled(came, below, lowest)


def _lowest(spec: TableSpec, state: State) -> CursorValue | None:
    """The bound below which the copy has no row, and the source's are not read; None where it may have any."""
    lowers = [window.lower for window in state.position.coverage]
    return None if spec.start is None or None in lowers else min([spec.start, *filter(None, lowers)])


def filled_changes(plan: SyncPlan, rule: str) -> tuple[SchemaChange, ...]:
    """One change `filled` for each column, of a plan that reads the last range; none for any other plan."""
    left = plan.previous.unfilled if plan.previous else None
    if left is None or left.after(plan.reading.window) is not None:
        return ()
    names = {name.lower() for name in left.columns}
    return tuple(
        SchemaChange(column.name, Change.FILLED, None, column.spark_type, rule)
        for column in plan.spec.columns
        if column.name.lower() in names
    )
