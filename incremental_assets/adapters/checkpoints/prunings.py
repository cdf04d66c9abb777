"""The rows of `prunings`: what each table was last pruned of."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, select

from incremental_assets.adapters.checkpoints.database import Database
from incremental_assets.adapters.checkpoints.pauses import names_of
from incremental_assets.adapters.checkpoints.tables import prunings, table_of
from incremental_assets.core.model.retention import Pruned
from incremental_assets.core.model.table_id import TableId

_COUNTS = ("files", "bytes", "versions", "quarantined")


def record_pruning(connection: Connection, database: Database, done: Pruned) -> None:
    """In place of the one before."""
    row: dict[str, Any] = {**names_of(done.table), "pruned_at": database.now()}
    row |= {name: getattr(done, name) for name in _COUNTS} | {"left_alone": json.dumps(done.left)}
    connection.execute(database.upsert(prunings, row))


def all_prunings(connection: Connection) -> dict[TableId, tuple[datetime, Pruned]]:
    """When it was, on the database's clock, and what was removed."""
    return {table_of(row): (row.pruned_at, _pruned(row)) for row in connection.execute(select(prunings))}


def _pruned(row: Any) -> Pruned:
    counts = {name: getattr(row, name) for name in _COUNTS}
    return Pruned(table_of(row), **counts, left=tuple(json.loads(row.left_alone)))
