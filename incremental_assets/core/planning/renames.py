"""Columns that the source has renamed: recognised by its own identity of a column, or named by `rename`. Pure.

A rename is a step of its own before the sync: the copy's column takes the new name, and its rows keep their values without being written again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from incremental_assets.core.errors import SchemaChanged
from incremental_assets.core.model.cures import full_refresh, rollback
from incremental_assets.core.model.naming import ColumnNames
from incremental_assets.core.model.rename import Rename, name_after
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.planning.renamed_terms import named_by_terms, renamed_terms


def renames_of(spec: TableSpec, state: State | None) -> tuple[Rename, ...]:
    """All of them happen at once. None takes the name of a column that stays under it; what does so, the sync refuses."""
    if state is None or spec.traits.overwrites:
        return ()
    here = {name.lower() for name in (*spec.shape.names, *spec.shape.left_out)}
    left = {name.lower(): name for name, _ in state.columns if name.lower() not in here}
    new_names = {before.lower(): after for before, after in spec.renamed}
    names = {name.lower(): name for name in spec.shape.names}
    # Of two that lead to one name, the configuration's is meant.
    found = {
        each.after.lower(): each
        for each in (
            *_recased(spec, state),
            *_identified(spec, state, new_names),
            *_configured(new_names, left),
            *_named_anew(spec, state),
        )
    }
    renames = tuple(replace(each, after=names[after]) for after, each in found.items() if after in names)
    return _possible(renames, {name.lower() for name, _ in state.columns})


def _possible(renames: tuple[Rename, ...], landed: set[str]) -> tuple[Rename, ...]:
    """The renames without those that would take a name which another column keeps."""
    free = {each.before.lower() for each in renames}
    kept = tuple(each for each in renames if each.after.lower() not in landed - free)
    return kept if kept == renames else _possible(kept, landed)


def _configured(new_names: dict[str, str], left: dict[str, str]) -> Iterator[Rename]:
    for before, after in new_names.items():
        if before in left:
            yield Rename(left[before], after, by="rename")


def _named_anew(spec: TableSpec, state: State) -> Iterator[Rename]:
    """Columns that landed under the names that `column_names` gave them before."""
    landed, sources = {name for name, _ in state.columns}, dict(spec.source_names)
    was = ColumnNames(state.terms.column_names or ColumnNames.KEEP)
    if was is spec.column_names:
        return
    for name in spec.shape.names:
        before = was.of(sources.get(name, name))
        if before != name and before in landed and name not in landed:
            yield Rename(before, name, by="column_names")


def _recased(spec: TableSpec, state: State) -> Iterator[Rename]:
    """Key, cursor and the columns of a condition and of masks under names that differ from those that landed by case alone: no copy can hold two such columns, so that they are the same."""
    here, terms, landed = {column.name.lower(): column for column in spec.columns}, state.terms, dict(state.columns)
    by_case = {name.lower(): name for name in landed}
    named = (by_case.get(name.lower(), name) for name in named_by_terms(spec))
    for name in (*terms.key, terms.cursor.rpartition(":")[0], terms.fallback or "", *named):
        now, was = here.get(name.lower()), landed.get(name, "")
        if now is not None and now.name != name and (not was or now.identity in ("", was)):
            yield Rename(name, now.name)


def _identified(spec: TableSpec, state: State, new_names: dict[str, str]) -> Iterator[Rename]:
    absent = {name.lower() for name in state.absent}
    landed = {name.lower(): identity for name, identity in state.columns}
    # Of two names under which one column landed, the one that was read last holds its values.
    oldest_first = sorted(state.columns, key=lambda column: column[0].lower() not in absent)
    by_identity = {identity: name for name, identity in oldest_first if identity and name.lower() not in new_names}
    for column in spec.columns:
        if column.identity in by_identity and landed.get(column.name.lower()) != column.identity:
            yield Rename(by_identity[column.identity], column.name)


def check_renames(spec: TableSpec, state: State | None, renames: tuple[Rename, ...]) -> None:
    """Raises SchemaChanged where the table's columns are to stay as they landed, and where the configuration renames what never landed."""
    by_source = tuple(each for each in renames if each.by != "column_names")
    if by_source and not spec.evolve:
        listed = " and ".join(f"{each.before!r} {each.after!r}" for each in by_source)
        raise SchemaChanged(
            f"{spec.id}: the source now calls the column {listed}, and `schema_changes: freeze` keeps the names that landed: "
            f"rename it back, or set `schema_changes: evolve` for this table"
        )
    landed = _landed(spec, state)
    for before, after in spec.renamed if landed else ():
        if not {before.lower(), after.lower()} & landed.keys():
            raise SchemaChanged(
                f"{spec.id}: `rename` says that {before!r} is now {after!r}, and the copy has neither; it has {', '.join(landed.values())}: "
                f"correct the entry, or remove it where {after!r} is a new column"
            )


def _landed(spec: TableSpec, state: State | None) -> dict[str, str]:
    """Columns of a copy that keeps its own, by their names in small letters."""
    return {name.lower(): name for name, _ in state.columns} if state and not spec.traits.overwrites else {}


def renamed_too_late(spec: TableSpec, state: State | None) -> tuple[str, ...]:
    """Warnings of entries of `rename` that come too late: both names have landed, each as a column of its own."""
    landed = _landed(spec, state).keys()
    return tuple(
        f"`rename` says that {before!r} is now {after!r}, and an earlier sync has taken {after!r} for a new column: {_left_so(spec, before, after)}"
        for before, after in spec.renamed
        if {before.lower(), after.lower()} <= landed
    )


def _left_so(spec: TableSpec, before: str, after: str) -> str:
    if spec.traits.one_row_per_key:
        return (
            f"its values are read for every row that the source has, so remove the entry; {before!r} stays with what it held "
            f"until everything is read again with {full_refresh(spec)}"
        )
    return (
        f"rows that landed before have their values in {before!r} and NULL in {after!r}; take the copy back to the last run before that with "
        f"{rollback(spec)}, and the next sync renames {before!r} and goes on from there, or remove the entry"
    )


def renamed(spec: TableSpec, state: State, renames: tuple[Rename, ...]) -> State:
    """The state once columns of the copy have their new names."""
    unfilled = state.unfilled
    return replace(
        state,
        terms=renamed_terms(spec, state.terms, renames),
        columns=tuple((name_after(renames, name), identity) for name, identity in state.columns),
        absent=_all_after(renames, state.absent),
        unfilled=unfilled and replace(unfilled, columns=_all_after(renames, unfilled.columns)),
        pii=_all_after(renames, state.pii),
    )


def as_masked(spec: TableSpec, state: State | None) -> State | None:
    """The state of a table that is read as a whole, its masks by the names that their columns have now: of two that have exchanged theirs, or of one whose name another has taken, values would land as they are."""
    if state is None or not (spec.traits.overwrites and state.terms.masks):
        return state
    masks = renamed_terms(spec, state.terms, _followed(spec, state)).masks
    return replace(state, terms=replace(state.terms, masks=masks))


def with_pii(spec: TableSpec, state: State | None) -> TableSpec:
    """The table with the columns that `pii` hid when something landed last, whichever names they have now. A name that it has got since was one of then, too, unless a hidden column has it now."""
    if state is None or not spec.pii:
        return spec
    renames = _followed(spec, state)
    kept = _all_after(renames, state.pii)
    then = (*state.pii, *(name for name in spec.pii if name not in kept))
    now = dict.fromkeys(name_after(renames, name) for name in then if name_after(renames, name) != name)
    return replace(spec, once_pii=tuple(name for name in now if name in spec.shape.names and name not in spec.pii))


def check_pii(spec: TableSpec, state: State | None) -> None:
    """Raises SchemaChanged where `pii` names a column that has another name now."""
    renames = _followed(spec, state) if state else ()
    for name in spec.once_pii:
        before = next((each.before for each in renames if each.after == name), name)
        raise SchemaChanged(
            f"{spec.id}: the column {name!r} had the name {before!r} when rows landed, which `pii` hides, and would be shown now: write {name!r} into `pii`"
        )


def _followed(spec: TableSpec, state: State) -> tuple[Rename, ...]:
    """Of a copy that is written as a whole no column is renamed, and its columns have other names all the same."""
    return tuple(_identified(spec, state, {})) if spec.traits.overwrites else renames_of(spec, state)


def as_renamed(spec: TableSpec, state: State | None) -> State | None:
    """The state once every rename has been carried out."""
    return state and renamed(spec, state, renames_of(spec, state))


def _all_after(renames: tuple[Rename, ...], names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name_after(renames, name) for name in names)
