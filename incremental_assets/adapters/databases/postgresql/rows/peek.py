"""Some rows of a table as PostgreSQL prints them, for people."""

from __future__ import annotations

from incremental_assets.adapters.databases.postgresql.asked import Asked
from incremental_assets.adapters.databases.postgresql.batch import light
from incremental_assets.adapters.databases.postgresql.read_from import read_from
from incremental_assets.adapters.databases.postgresql.rows.read import legible
from incremental_assets.core.model.table import TableSpec


def peek(asked: Asked, spec: TableSpec, most: int) -> list[tuple[str | None, ...]]:
    """The first that come, in no order."""
    texts = ", ".join(legible(column) for column in spec.source_columns)
    with light(asked):
        return [tuple(row) for row in asked.execute(f"SELECT {texts} {read_from(spec)} LIMIT {most}").fetchall()]
