"""Some rows of a table as the server sends them, for people."""

from __future__ import annotations

from incremental_assets.adapters.databases.condition import EVERY
from incremental_assets.adapters.databases.mysql.columns import printed
from incremental_assets.adapters.databases.mysql.connect import Connection
from incremental_assets.adapters.databases.mysql.rows_of import select
from incremental_assets.adapters.databases.mysql.types import travel
from incremental_assets.core.model.table import TableSpec


def peek(connection: Connection, spec: TableSpec, most: int) -> list[tuple[str | None, ...]]:
    """The first that come, in no order."""
    columns = ", ".join(travel(column).select for column in spec.source_columns)
    selection = select(spec, columns, EVERY)
    return [
        tuple(printed(value) for value in row)
        for sent in connection.batches(f"{selection.sql} LIMIT {most}", selection.values, most)
        for row in zip(*(column.to_pylist() for column in sent), strict=True)
    ]
