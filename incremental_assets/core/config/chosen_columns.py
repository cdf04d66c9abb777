"""`columns` of a table matched with the catalogue: what is left out is as if the source did not have it."""

from __future__ import annotations

from collections.abc import Iterator

from incremental_assets.core.config.settings import TableConfig
from incremental_assets.core.errors import SourceRefused
from incremental_assets.core.model.row_condition import columns_of
from incremental_assets.core.model.table_shape import TableShape


def chosen_columns(config: TableConfig, shape: TableShape) -> TableShape:
    """The table with the columns that are read. Raises SourceRefused where a column is needed that would be left out."""
    for role, name in _needed(config, shape):
        if name in shape.names and config.columns.leaves_out(name):
            raise SourceRefused(
                f"{shape.id}: `columns` leaves out {name!r}, which is {role}: {_cure(config, name)}, or have another column be {role}"
            )
    chosen = shape.without([name for name in shape.names if config.columns.leaves_out(name)])
    if not chosen.columns:
        raise SourceRefused(
            f"{shape.id}: `columns` leaves out every column, so there is nothing to copy; exclude fewer, or leave the table out"
        )
    return chosen


def _needed(config: TableConfig, shape: TableShape) -> Iterator[tuple[str, str]]:
    """The role and the name of each column that has to be read: cursor, fallback, key, mark of deletes, columns of the condition and of the contract."""
    if config.cursor is not None:
        yield "the cursor", config.cursor.column
        if config.cursor.fallback is not None:
            yield "the cursor's fallback", config.cursor.fallback
    for name in shape.primary_key if config.primary_key is None else config.primary_key:
        yield "a column of the key", name
    if config.deletes.column:
        yield "the mark of `deletes`", config.deletes.column
    for name in columns_of(config.where):
        yield "asked for by `where`", name
    for rules in config.contract.rules if config.contract else ():
        yield "judged by the contract", rules.column


def _cure(config: TableConfig, name: str) -> str:
    if config.columns.include is not None:
        return "add it to `include`"
    if name in config.columns.exclude:
        return "remove it from `exclude`"
    return "remove it from `exclude` under `defaults`"
