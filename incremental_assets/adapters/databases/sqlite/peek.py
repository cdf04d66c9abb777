"""Some rows of a table as they are stored, for people."""

from __future__ import annotations

import sqlite3

from incremental_assets.adapters.databases.condition import EVERY
from incremental_assets.adapters.databases.sqlite.sql import chosen, identifier, names
from incremental_assets.adapters.databases.sqlite.types import printed
from incremental_assets.core.model.table import TableSpec


def peek(connection: sqlite3.Connection, spec: TableSpec, most: int) -> list[tuple[str | None, ...]]:
    """The first that come, in no order."""
    rows, columns = chosen(spec, EVERY), names([column.name for column in spec.source_columns])
    sql = f"SELECT {columns} FROM {identifier(spec.id.name)} WHERE {rows.sql} LIMIT {most}"
    found = connection.execute(sql, rows.values)
    return [tuple(None if value is None else printed(value) for value in row) for row in found]
