"""SQL Server as the rowwise engine asks it."""

from __future__ import annotations

from incremental_assets.core.model.column import Column
from incremental_assets_experimental.rowwise.row_dialect import UNPLAYED, RowDialect
from incremental_assets_experimental.sqlserver import bound, catalogue, doctor, errors, types, words
from incremental_assets_experimental.sqlserver.connect import Connection

_OVER = "SELECT CONVERT(bigint, MIN_ACTIVE_ROWVERSION())"
"""The smallest version that an open transaction holds; where there is none, the one that is given next."""


def _settled_rows(column: Column) -> str:
    """The condition that a row has settled: its version lies below the smallest that an open transaction holds. Empty for a column that is no `rowversion`."""
    name = words.identifier(column.name)
    return f"{name} < MIN_ACTIVE_ROWVERSION()" if column.source_type == "rowversion" else ""


SQL_SERVER = RowDialect(
    name="sqlserver",
    note=UNPLAYED,
    connect=Connection,
    explain=errors.explain,
    identifier=words.identifier,
    shown=types.shown,
    converter=types.converter,
    beyond=types.beyond,
    catalogue=catalogue.read_catalogue,
    missing_schemas=catalogue.missing_schemas,
    hiding=catalogue.hiding_tables,
    bound=bound.take_bound,
    facts=doctor.read_facts,
    count="COUNT_BIG(*)",
    over=_OVER,
    settled_rows=_settled_rows,
)
