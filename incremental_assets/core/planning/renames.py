"""Columns that the source has renamed: recognised by its own identity of a column, or named by `rename`. Pure.

A rename is a step of its own before the sync: the copy's column takes the new name, and its rows keep their values without being written again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from incremental_assets.core.errors import SchemaChanged
from incremental_assets.core.model.cures import full_refresh, rollback
from incremental_assets.core.model.rename import Rename
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import TableSpec, Terms


def renames_of(spec: TableSpec, state: State | None) -> tuple[Rename, ...]:
    """Of a name that has landed for another column nothing follows: what exchanges names, the sync refuses."""
    if state is None or spec.traits.overwrites:
        return ()
    here = {name.lower() for name in (*spec.shape.names, *spec.shape.left_out)}
    landed = {name.lower() for name, _ in state.columns}
    left = {name.lower(): name for name, _ in state.columns if name.lower() not in here}
    told = {before.lower(): after for before, after in spec.renamed}
    found = (*_configured(told, left), *_identified(spec, state, left, told))
    names = {name.lower(): name for name in spec.shape.names}
    return tuple(
        replace(each, after=names[each.after.lower()])
        for each in found
        if each.after.lower() in names and each.after.lower() not in landed
    )


def _configured(told: dict[str, str], left: dict[str, str]) -> Iterator[Rename]:
    for before, after in told.items():
        if before in left:
            yield Rename(left[before], after, configured=True)


def _identified(spec: TableSpec, state: State, left: dict[str, str], told: dict[str, str]) -> Iterator[Rename]:
    absent = {name.lower() for name in state.absent}
    # Of two names under which one column landed, the one that was read last holds its values.
    oldest_first = sorted(left, key=lambda name: name not in absent)
    identities = {name.lower(): identity for name, identity in state.columns}
    by_identity = {identities[name]: left[name] for name in oldest_first if identities[name] and name not in told}
    for column in spec.columns:
        if column.identity in by_identity:
            yield Rename(by_identity[column.identity], column.name)


def check_renames(spec: TableSpec, state: State | None, renames: tuple[Rename, ...]) -> None:
    """Raises SchemaChanged where the table's columns are to stay as they landed, and where the configuration renames what never landed."""
    if renames and not spec.evolve:
        listed = " and ".join(f"{each.before!r} {each.after!r}" for each in renames)
        raise SchemaChanged(
            f"{spec.id}: the source now calls the column {listed}, and `schema_changes: freeze` keeps the names that landed: "
            f"rename it back, or set `schema_changes: evolve` for this table"
        )
    for before, after in spec.renamed if state and state.columns and not spec.traits.overwrites else ():
        landed = {name.lower(): name for name, _ in state.columns} if state else {}
        if not {before.lower(), after.lower()} & landed.keys():
            raise SchemaChanged(
                f"{spec.id}: `rename` says that {before!r} is now {after!r}, and the copy has neither; it has {', '.join(landed.values())}: "
                f"correct the entry, or remove it where {after!r} is a new column"
            )


def told_too_late(spec: TableSpec, state: State | None) -> tuple[str, ...]:
    """Of entries of the configuration with which nothing is left to do, since the new name has landed as a column of its own."""
    landed = {name.lower() for name, _ in state.columns} if state and not spec.traits.overwrites else set()
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


def renamed(state: State, rename: Rename) -> State:
    """The state once a column of the copy has its new name."""
    unfilled = state.unfilled
    return replace(
        state,
        terms=_renamed_terms(state.terms, rename),
        columns=tuple((rename.of(name), identity) for name, identity in state.columns),
        absent=tuple(rename.of(name) for name in state.absent),
        unfilled=unfilled and replace(unfilled, columns=tuple(rename.of(name) for name in unfilled.columns)),
    )


def as_renamed(spec: TableSpec, state: State | None) -> State | None:
    """The state once every rename has been carried out."""
    for rename in renames_of(spec, state):
        state = state and renamed(state, rename)
    return state


def _renamed_terms(terms: Terms, rename: Rename) -> Terms:
    """Key and cursor are the columns that they were."""
    cursor, separator, kind = terms.cursor.rpartition(":")
    return replace(
        terms,
        key=tuple(rename.of(name) for name in terms.key),
        cursor=f"{rename.of(cursor)}{separator}{kind}",
        fallback=terms.fallback and rename.of(terms.fallback),
    )
