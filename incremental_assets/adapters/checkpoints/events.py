"""Append events, thin out the idle ones, read the latest back."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Delete, Select, delete, func, insert, select

from incremental_assets.adapters.checkpoints.database import Database
from incremental_assets.adapters.checkpoints.rows import event_of, row_of
from incremental_assets.adapters.checkpoints.tables import checkpoints, is_table, same_table
from incremental_assets.core.model.table import TableId
from incremental_assets.core.planning.events import Event, EventKind
from incremental_assets.core.syncing.ledger import FINISHED_KINDS


@dataclass(frozen=True, slots=True)
class Recorded:
    """An event as stored in the table; `at` is the database's clock."""

    event_id: int
    at: datetime
    event: Event


def append(connection: Connection, database: Database, event: Event) -> None:
    """One row more."""
    times: dict[str, Any] = {"at": database.now()}
    if event.report is not None and event.kind in FINISHED_KINDS:
        times["completed_at"] = database.now()
        times["started_at"] = database.now(-timedelta(seconds=event.report.seconds))
    connection.execute(insert(checkpoints).values(**row_of(event), **times))


def surplus_idle(database: Database, keep: timedelta, table: TableId | None = None) -> Delete:
    """Deletes idle events older than `keep` that another state has followed, of one table or of all."""
    later = checkpoints.alias("later")
    newest = select(func.max(later.c.event_id)).where(same_table(later.c, checkpoints.c), later.c.state.is_not(None))
    surplus = delete(checkpoints).where(
        checkpoints.c.event == EventKind.IDLE.value,
        checkpoints.c.at < database.now(-keep),
        checkpoints.c.event_id < newest.scalar_subquery(),
    )
    return surplus if table is None else surplus.where(is_table(checkpoints.c, table))


def latest(table: TableId, limit: int) -> Select[Any]:
    """The last events of one table, newest first."""
    return (
        select(checkpoints).where(is_table(checkpoints.c, table)).order_by(checkpoints.c.event_id.desc()).limit(limit)
    )


def recorded(rows: Iterable[Any]) -> tuple[Recorded, ...]:
    """Rows as events, in the rows' order."""
    return tuple(Recorded(row.event_id, row.at, event_of(row)) for row in rows)
