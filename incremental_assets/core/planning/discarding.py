"""`schema_changes: discard`: new columns of the source are as if it did not have them. Pure."""

from __future__ import annotations

from dataclasses import replace

from incremental_assets.core.model.as_copied import source_name
from incremental_assets.core.model.row_condition import columns_of
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.planning.renames import as_renamed


def discarding(spec: TableSpec, state: State | None) -> TableSpec:
    """The table with the columns that landed. Nothing is new to a copy that does not exist, nor what rows are told apart by."""
    if not spec.discards or state is None or not state.columns:
        return spec
    chosen = {name for name in spec.shape.names if source_name(spec, name) in columns_of(spec.where)}
    needed = {*spec.key, *spec.named_key, *spec.cursor_columns, spec.deletes.column, *chosen}
    # A column that is only renamed is none.
    known = as_renamed(spec, state) or state
    landed = {name.lower() for name, _ in known.columns}
    new = tuple(name for name in spec.shape.names if name.lower() not in landed and name not in needed)
    if not new:
        return spec
    masks = tuple(each for each in spec.masks if each.name not in new)
    return replace(spec, shape=spec.shape.without(new), discarded=(*spec.discarded, *new), masks=masks)


def newly_discarded(spec: TableSpec, state: State | None) -> tuple[str, ...]:
    """The discarded columns that no landed run has reported yet."""
    known = state.discarded if state else ()
    return tuple(name for name in spec.discarded if name not in known)


def discarded_warning(spec: TableSpec, state: State | None) -> tuple[str, ...]:
    """The warning of newly discarded columns, given until a run lands something and so records them; empty where there are none."""
    names = ", ".join(newly_discarded(spec, state))
    sentence = (
        f"new columns of the source ({names}) are not read, as `schema_changes: discard` says; to take them in, set `schema_changes: evolve`, "
        "or leave them out for good with `columns: {exclude: [...]}`"
    )
    return (sentence,) if names else ()
