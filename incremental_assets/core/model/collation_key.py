"""Keys of which the source takes values for equal that a copy holds differently: `a` and `A ` under a collation, 1 and 1.0 as numbers. Pure.

The source computes a collation key for each row, a text that is equal where the source takes the key for equal, and nowhere else. It lands as a
column of ours, and rows are told apart by it wherever they are told apart by the key.
"""

from __future__ import annotations

from dataclasses import replace

from incremental_assets.core.errors import SourceRefused
from incremental_assets.core.model.column import Column, Fidelity
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.table_shape import TableShape

NAME = "_sync_collation_key"
_COMMENT = "What the source takes for equal in the key, as it compares it"


def collated(spec: TableSpec) -> TableSpec:
    """The table with a collation key, where its key needs one. Raises SourceRefused where the source cannot give it."""
    key = spec.named_key
    if spec.traits.overwrites or spec.collation_key is not None:
        return spec
    compared = spec.shape.compared(key)
    for column in compared:
        # What keeps versions loses none of them by a key that is written in another way.
        if column.no_key and spec.traits.one_row_per_key:
            raise SourceRefused(
                f"{spec.id}: rows are told apart by {column.name!r}, a {column.source_type}, and {column.no_key}; name another key by `primary_key`, "
                "give the column another type or collation, or choose `strategy: full_refresh`"
            )
    of = tuple(column for column in compared if column.collation)
    if not of:
        return spec
    names = {column.name for column in of}
    told_by = (*(name for name in key if name not in names), NAME)
    return replace(spec, shape=with_key(spec.shape, of), key=told_by, source_key=key)


def uncollated(spec: TableSpec) -> TableSpec:
    """The table without one: rows are told apart by the key as it is written."""
    if spec.collation_key is None:
        return spec
    shape = replace(spec.shape, columns=spec.source_columns)
    return replace(spec, shape=shape, key=spec.named_key, source_key=())


def with_key(shape: TableShape, of: tuple[Column, ...]) -> TableShape:
    """The table with the collation key of these columns as its last one."""
    nullable = any(column.nullable for column in of)
    words = ", ".join(column.collation for column in of)
    encoding = next((column.encoding for column in of if column.encoding), "")
    key = Column(
        NAME, f"collation key ({words})", "string", Fidelity.TEXT, nullable, _COMMENT, encoding=encoding, of=of
    )
    return replace(shape, columns=(*shape.columns, key))


def as_planned(spec: TableSpec, found: TableShape) -> TableShape:
    """A table as the catalogue shows it now, with the collation key that a plan has of it, as it would be made now."""
    planned = spec.collation_key
    if planned is None:
        return found
    names = [column.name for column in planned.of]
    of = tuple(column for column in found.compared(spec.named_key) if column.name in names and column.collation)
    return with_key(found, of) if of else found
