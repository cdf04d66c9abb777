"""Updates that the source has counted in a table, and that an append does not copy. Pure."""

from __future__ import annotations

from incremental_assets.core.captures.database.position import position_of
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.words import counted

UPSERT_INSTEAD = (
    "use `strategy: upsert` with a cursor that moves at each update, or by `cursor: {type: xmin}` or `compare`"
)


def updates_not_copied(spec: TableSpec) -> str:
    """What the source's counter says of rows with a key that are updated, where the cursor is not shown to move with them; empty if it says nothing."""
    cursor, counts = spec.cursor, spec.shape.updates
    if not counts or cursor is None or not spec.traits.keeps_versions or cursor.by_transaction:
        return ""
    column = next((each for each in spec.columns if each.name == cursor.column), None)
    if column is not None and column.stamps is not None and column.stamps.stamps_updates:
        return ""
    if not (spec.shape.primary_key or spec.shape.unique_keys or spec.shape.own_key):
        return ""
    return (
        f"{counted(counts, 'update')} of this table {'has' if counts == 1 else 'have'} been counted by the source, and an append copies none that does not "
        f"move {cursor.column!r}"
    )


def updates_warning(spec: TableSpec, state: State | None) -> tuple[str, ...]:
    """The warning of a run, where more have been counted than at the run before."""
    known = position_of(state).updates if state else None
    found = updates_not_copied(spec)
    return (f"{found}: {UPSERT_INSTEAD}",) if found and (spec.shape.updates or 0) > (known or 0) else ()
