"""A table by the names of its copy's columns, and by those of its source, where they are not the same. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from incremental_assets.core.errors import NameRefused
from incremental_assets.core.model.column import Column, MaskedColumn
from incremental_assets.core.model.naming import ColumnNames
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.model.table_shape import TableShape


def named_as(names: ColumnNames, table: TableId, columns: Iterable[str]) -> dict[str, str]:
    """The source's names and the copy's, of those that differ. Raises NameRefused where two columns would be one, or one would have no name."""
    found: dict[str, str] = {}
    for column in columns:
        name = names.of(column)
        other = found.get(name)
        if not name:
            raise NameRefused(
                f"{table}: `column_names: {names}` leaves nothing of the column {column!r}; rename it in the source, leave it out: `columns: {{exclude: [{column!r}]}}`, or write `column_names: keep` at this table"
            )
        if other is not None:
            raise NameRefused(
                f"{table}: by `column_names: {names}` the columns {other!r} and {column!r} would both be {name!r}; rename one of them in the source, "
                "leave one out by `columns: {exclude: […]}`, or write `column_names: keep` at this table"
            )
        found[name] = column
    return {column: name for name, column in found.items() if name != column}


def as_copied(spec: TableSpec, names: ColumnNames) -> TableSpec:
    """A table, which has its source's names, by those of its copy. Raises NameRefused, see `named_as`."""
    if names is ColumnNames.KEEP:
        return spec
    columns = [column.name for column in spec.source_columns]
    changed = named_as(names, spec.id, columns)
    sources = {name: column for column, name in changed.items()}
    taken = {changed.get(column, column) for column in columns}
    # Of the columns that are not read, or no longer there, the copy may have some, which landed before.
    for column in (*spec.shape.left_out, *dict(spec.renamed)):
        if (name := names.of(column)) and name != column and name not in taken:
            taken.add(name)
            sources[name] = column
    after = {column: name for name, column in sources.items()}
    return replace(_renamed(spec, after), source_names=tuple(sorted(sources.items())), column_names=names)


def in_source(spec: TableSpec) -> TableSpec:
    """A table by the names that its source has, for whoever asks the source."""
    if not spec.source_names:
        return spec
    return replace(_renamed(spec, dict(spec.source_names)), source_names=())


def source_name(spec: TableSpec, name: str) -> str:
    """What the source calls a column of the copy."""
    return dict(spec.source_names).get(name, name)


def _renamed(spec: TableSpec, names: Mapping[str, str]) -> TableSpec:
    def named(many: Iterable[str]) -> tuple[str, ...]:
        return tuple(names.get(each, each) for each in many)

    def of(name: str) -> str:
        return names.get(name, name)

    def masked(each: MaskedColumn) -> MaskedColumn:
        return replace(each, name=of(each.name), read=_column(each.read, names), lands=_column(each.lands, names))

    cursor, contract = spec.cursor, spec.contract
    return replace(
        spec,
        shape=_shape(spec.shape, names),
        cursor=cursor and replace(cursor, column=of(cursor.column), fallback=cursor.fallback and of(cursor.fallback)),
        key=named(spec.key),
        source_key=named(spec.source_key),
        discarded=named(spec.discarded),
        renamed=tuple((of(before), of(after)) for before, after in spec.renamed),
        pii=named(spec.pii),
        once_pii=named(spec.once_pii),
        masks=tuple(map(masked, spec.masks)),
        deletes=replace(spec.deletes, column=of(spec.deletes.column)),
        contract=contract
        and replace(contract, rules=tuple(replace(each, column=of(each.column)) for each in contract.rules)),
    )


def _shape(shape: TableShape, names: Mapping[str, str]) -> TableShape:
    def named(many: Iterable[str]) -> tuple[str, ...]:
        return tuple(names.get(each, each) for each in many)

    def columns(many: Iterable[Column]) -> tuple[Column, ...]:
        return tuple(_column(each, names) for each in many)

    return replace(
        shape,
        columns=columns(shape.columns),
        primary_key=named(shape.primary_key),
        unique_keys=tuple(map(named, shape.unique_keys)),
        indexed_keys=tuple(map(columns, shape.indexed_keys)),
        own_key=named(shape.own_key),
        left_out=named(shape.left_out),
        numbering=shape.numbering and _column(shape.numbering, names),
    )


def _column(column: Column, names: Mapping[str, str]) -> Column:
    return replace(
        column,
        name=names.get(column.name, column.name),
        of=tuple(_column(each, names) for each in column.of),
    )
