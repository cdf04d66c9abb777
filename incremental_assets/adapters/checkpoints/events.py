"""Append events, thin out the idle ones, read the latest back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Select, delete, func, insert, select

from incremental_assets.adapters.checkpoints.changes import append_changes
from incremental_assets.adapters.checkpoints.database import Database
from incremental_assets.adapters.checkpoints.rows import event_of, row_of
from incremental_assets.adapters.checkpoints.tables import checkpoints, is_named, is_table, named, same_table
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.planning.events import FINISHED_KINDS, Event, EventKind
from incremental_assets.core.planning.plan import Mode


@dataclass(frozen=True, slots=True)
class Recorded:
    """An event as stored in the table; `at` is the database's clock."""

    event_id: int
    at: datetime
    event: Event


def append(connection: Connection, database: Database, *events: Event) -> None:
    """A row more for each; those that took as long go in one statement. What they changed of columns goes into its ledger."""
    alike: dict[float | None, list[Mapping[str, Any]]] = {}
    for event in events:
        alike.setdefault(_seconds(event), []).append(row_of(event))
    for seconds, rows in alike.items():
        times: dict[str, Any] = {"at": database.now()}
        if seconds is not None:
            times["completed_at"] = database.now()
            times["started_at"] = database.now(-timedelta(seconds=seconds))
        connection.execute(insert(checkpoints).values(**times), rows)
    append_changes(connection, database, events)


def _seconds(event: Event) -> float | None:
    """The seconds that the sync took which this event ends; None for any other event."""
    return event.report.seconds if event.report is not None and event.kind in FINISHED_KINDS else None


def thin_out(connection: Connection, database: Database, keep: timedelta, tables: Iterable[TableId]) -> None:
    """Remove idle events of these tables that are older than `keep` and that another state has followed."""
    later = checkpoints.alias("later")
    newest = select(func.max(later.c.event_id)).where(same_table(later.c, checkpoints.c), later.c.state.is_not(None))
    # Table by table, as each is a descent of an index; over all of them at once it would be a walk through every event.
    one = delete(checkpoints).where(
        is_named(checkpoints.c),
        checkpoints.c.event == EventKind.IDLE.value,
        checkpoints.c.at < database.now(-keep),
        checkpoints.c.event_id < newest.scalar_subquery(),
    )
    connection.execute(one, [named(table) for table in tables])


def latest(table: TableId, limit: int) -> Select[Any]:
    """The last events of one table, newest first."""
    return (
        select(checkpoints).where(is_table(checkpoints.c, table)).order_by(checkpoints.c.event_id.desc()).limit(limit)
    )


def events_after(table: TableId, event_id: int) -> Select[Any]:
    """The events of one table behind one of them, oldest first."""
    c = checkpoints.c
    return select(checkpoints).where(is_table(c, table), c.event_id > event_id).order_by(c.event_id)


def standing_backfills(table: TableId) -> Select[Any]:
    """The runs of backfills that have landed since the table was last reset, rolled back, rebuilt or read anew: what they read is still so."""
    c = checkpoints.c
    back = c.event.in_([EventKind.RESET.value, EventKind.REBUILT.value]) | (
        (c.event == EventKind.LANDED.value) & c.mode.in_([Mode.ROLLBACK.value, Mode.FULL_REFRESH.value])
    )
    newest = select(func.coalesce(func.max(c.event_id), 0)).where(is_table(c, table), back)
    read = c.event.in_([EventKind.LANDED.value, EventKind.IDLE.value]) & (c.mode == Mode.BACKFILL.value)
    return select(c.run_id).where(is_table(c, table), read, c.event_id > newest.scalar_subquery()).distinct()


def recorded(rows: Iterable[Any]) -> tuple[Recorded, ...]:
    """Rows as events, in the rows' order."""
    return tuple(Recorded(row.event_id, row.at, event_of(row)) for row in rows)
