"""Oracle as the rowwise engine asks it. Of numbers it does not tell which are drawn and not committed yet."""

from __future__ import annotations

from incremental_assets_experimental.oracle import bound, catalogue, doctor, errors, types, words
from incremental_assets_experimental.oracle.connect import Connection
from incremental_assets_experimental.rowwise.row_dialect import UNPLAYED, RowDialect

_OVER = "SELECT CURRENT_SCN FROM V$DATABASE"
"""Whatever commits later gets a larger change number, and every view that is taken later shows what has a smaller one."""

ORACLE = RowDialect(
    name="oracle",
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
    over=_OVER,
)
