"""`columns: {mask: …}` matched with the catalogue: the columns as they land. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from incremental_assets.core.errors import SourceRefused
from incremental_assets.core.model.column import Fidelity, MaskedColumn
from incremental_assets.core.model.mask import Mask
from incremental_assets.core.model.table import TableSpec


def with_masks(spec: TableSpec, masks: tuple[tuple[str, Mask], ...]) -> TableSpec:
    """The table as it lands. Raises SourceRefused where rows are found, told apart or marked by a masked column, and where a mask does not fit one."""
    if not masks:
        return spec
    for role, name in _needed(spec):
        if name in dict(masks):
            raise SourceRefused(
                f"{spec.id}: `columns: {{mask: …}}` masks {name!r}, which is {role}, so that its values must land as they are; "
                f"remove it from `mask`, or leave the column out where another one can be {role}"
            )
    by_name = {column.name: column for column in spec.columns}
    found = []
    # A column that `defaults` leaves out is none.
    for name, mask in ((name, mask) for name, mask in masks if name in by_name):
        column = by_name[name]
        lands_as = mask.lands_as(column.spark_type)
        if lands_as is None:
            raise SourceRefused(
                f"{spec.id}: `columns: {{mask: {{{name}: {mask}}}}}` is for {mask.takes}, and {name!r} is {column.source_type}; write another mask, such as `redact`, "
                f"or leave the column out: `columns: {{exclude: [{name}]}}`"
            )
        told = "; ".join(filter(None, (column.comment, f"masked: {mask}")))
        lands = replace(column, spark_type=lands_as, fidelity=Fidelity.EXACT, comment=told, encoding="", collation="")
        found.append(MaskedColumn(name, mask, column, lands))
    return replace(spec, masks=tuple(found), shape=spec.shape.replacing({each.name: each.lands for each in found}))


def _needed(spec: TableSpec) -> Iterator[tuple[str, str]]:
    yield from (("the cursor", name) for name in spec.cursor_columns)
    key = {*spec.named_key, *spec.key, *spec.shape.primary_key}
    yield from (("a column of the key", name) for name in sorted(key))
    if spec.deletes.column:
        yield "the mark of `deletes`", spec.deletes.column
    for rules in spec.contract.rules if spec.contract else ():
        yield "judged by the contract", rules.column
