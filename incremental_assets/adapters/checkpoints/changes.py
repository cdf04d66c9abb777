"""The ledger of schema changes: a row per column and landing, in the transaction of its event."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Select, func, insert, select

from incremental_assets.adapters.checkpoints.database import Database
from incremental_assets.adapters.checkpoints.tables import names_of, schema_changes
from incremental_assets.core.model.schema_change import Change, SchemaChange
from incremental_assets.core.planning.events import Event, EventKind


def append_changes(connection: Connection, database: Database, events: Sequence[Event]) -> None:
    """What the events that landed changed of the columns."""
    rows = [
        {**names_of(event.table), "seq": event.seq, "run_id": event.run_id, **_row_of(change)}
        for event in events
        if event.kind is EventKind.LANDED and event.report is not None
        for change in event.report.schema_changes
    ]
    if rows:
        connection.execute(insert(schema_changes).values(at=database.now()), rows)


def latest_changes() -> Select[Any]:
    """The last row of each table."""
    columns = schema_changes.c
    of = (columns.source, columns.schema_name, columns.table_name)
    last = select(func.max(columns.change_id)).group_by(*of)
    return select(schema_changes).where(columns.change_id.in_(last))


def change_of(row: Any) -> SchemaChange:
    """The change of a row."""
    return SchemaChange(row.column_name, Change(row.change), row.type_before, row.type_after, row.decided_by)


def _row_of(change: SchemaChange) -> dict[str, Any]:
    return {
        "column_name": change.column,
        "change": change.change.value,
        "type_before": change.before,
        "type_after": change.after,
        "decided_by": change.rule,
    }
