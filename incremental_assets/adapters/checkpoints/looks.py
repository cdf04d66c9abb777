"""The rows of `looks`: the last look at each source, one row each, so that a source that stands still costs no history."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, select

from incremental_assets.adapters.checkpoints.database import Database
from incremental_assets.adapters.checkpoints.tables import looks
from incremental_assets.core.model.look import Look, Looked
from incremental_assets.core.model.table_id import TableId


def record_look(connection: Connection, database: Database, source: str, look: Look | None) -> None:
    """Keep what it came to; None: the source did not answer, and what the look before it came to stays."""
    if look is None:
        connection.execute(database.upsert(looks, {"source": source, "failed_at": database.now()}))
        return
    before = all_looks(connection).get(source, Looked())
    behind = [(each.schema, each.name, _text(before.in_step(each))) for each in sorted(look.behind)]
    row = {
        "source": source,
        "looked_at": database.now(-timedelta(seconds=look.seconds)),
        "held_back_since": look.held_back_since,
        "kept_bytes": look.kept_bytes,
        "behind": json.dumps(behind, separators=(",", ":")),
    }
    connection.execute(database.upsert(looks, row))


def all_looks(connection: Connection) -> dict[str, Looked]:
    """Of every source that was ever looked at."""
    return {row.source: _looked(row) for row in connection.execute(select(looks))}


def _looked(row: Any) -> Looked:
    behind = {
        TableId(row.source, schema, name): None if since is None else datetime.fromisoformat(since)
        for schema, name, since in json.loads(row.behind or "[]")
    }
    return Looked(row.looked_at, row.failed_at, behind, row.held_back_since, row.kept_bytes)


def _text(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()
