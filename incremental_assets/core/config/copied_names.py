"""`column_names` in the configuration: what concerns the copy may name a column as the source does, or as the copy does. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from incremental_assets.core.config.settings import TableConfig
from incremental_assets.core.model.naming import ColumnNames
from incremental_assets.core.model.table_shape import TableShape


def by_source_names(config: TableConfig, shape: TableShape) -> TableConfig:
    """Its terms with the source's names. A name that the source has means that column."""
    if config.column_names is ColumnNames.KEEP:
        return config
    names: dict[str, str] = {}
    for column in shape.names:
        names.setdefault(config.column_names.of(column), column)
    names |= {column: column for column in shape.names}

    def of(name: str) -> str:
        return names.get(name, name)

    def named(many: Iterable[str]) -> tuple[str, ...]:
        return tuple(map(of, many))

    columns, contract = config.columns, config.contract
    return replace(
        config,
        pii=named(config.pii),
        columns=replace(
            columns,
            exclude=named(columns.exclude),
            include=None if columns.include is None else named(columns.include),
            masks=tuple((of(name), mask) for name, mask in columns.masks),
        ),
        contract=contract
        and replace(contract, rules=tuple(replace(each, column=of(each.column)) for each in contract.rules)),
    )
