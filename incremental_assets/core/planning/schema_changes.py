"""Decides which columns a landing changes, to be recorded: from the plan and the copy as it was. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from incremental_assets.core.model.schema_change import Change, SchemaChange
from incremental_assets.core.model.schema_drift import TargetColumn, difference, sql_type
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.planning.discarding import newly_discarded
from incremental_assets.core.planning.new_columns import filled_changes
from incremental_assets.core.planning.plan import Mode, SyncPlan

BY_COLUMNS = "columns"


def schema_changes(plan: SyncPlan, copy: Sequence[TargetColumn]) -> tuple[SchemaChange, ...]:
    """The changes of the copy's columns; none where `copy` is empty, as a new one is made with its columns, unless the plan fills columns."""
    if plan.request.mode is Mode.FILL:
        return filled_changes(plan, _rule(plan))
    return tuple(_changes(plan, copy)) if copy else ()


def _changes(plan: SyncPlan, copy: Sequence[TargetColumn]) -> Iterator[SchemaChange]:
    spec, found, rule = plan.spec, difference(plan.spec.columns, copy), _rule(plan)
    absent = _names(plan.previous.absent if plan.previous else ())
    types = {column.name.lower(): sql_type(column.type) for column in copy}
    for column in found.added:
        yield SchemaChange(column.name, Change.ADDED, None, column.spark_type, rule)
    for gone in found.dropped:
        # In a copy that is not written anew it stays, and is reported once.
        if plan.overwrites or gone.name.lower() not in absent:
            excluded = gone.name in spec.shape.left_out and gone.name not in spec.discarded
            change, by = (Change.EXCLUDED, BY_COLUMNS) if excluded else (Change.REMOVED, rule)
            yield SchemaChange(gone.name, change, sql_type(gone.type), None, by)
    for each in found.retyped:
        change = Change.RETYPED if plan.overwrites else Change.WIDENED
        yield SchemaChange(each.name, change, each.was, each.now, rule)
    for column in spec.columns:
        if not plan.overwrites and column.name.lower() in absent & types.keys():
            yield SchemaChange(column.name, Change.RETURNED, types[column.name.lower()], column.spark_type, rule)
    for name in newly_discarded(spec, plan.previous):
        yield SchemaChange(name, Change.DISCARDED, None, None, rule)


def rolled_back_changes(past: State, now: State) -> tuple[SchemaChange, ...]:
    """Columns that a copy has no more, or has again, once it is taken back; their types, only its log would tell."""
    then, since = (_names(name for name, _ in state.columns) for state in (past, now))
    return (
        *(
            SchemaChange(name, Change.REMOVED, None, None, "rollback")
            for name, _ in now.columns
            if name.lower() not in then
        ),
        *(
            SchemaChange(name, Change.ADDED, None, None, "rollback")
            for name, _ in past.columns
            if name.lower() not in since
        ),
    )


def _rule(plan: SyncPlan) -> str:
    return "full refresh" if plan.request.mode is Mode.FULL_REFRESH else rule_of(plan.spec)


def rule_of(spec: TableSpec) -> str:
    """What decides of a change in the source's columns, as it is written."""
    named = "discard" if spec.discards else "widen" if spec.widens else "evolve" if spec.evolve else "freeze"
    return f"schema_changes: {named}"


def _names(names: Iterable[str]) -> frozenset[str]:
    return frozenset(name.lower() for name in names)
