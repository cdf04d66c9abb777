"""The rows of `deeds`: what people have asked for beside syncs. Appended, never edited."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sqlalchemy import Connection, func, select

from incremental_assets.adapters.checkpoints.database import Database
from incremental_assets.adapters.checkpoints.pauses import names_of
from incremental_assets.adapters.checkpoints.tables import checkpoints, deeds, same_table
from incremental_assets.core.model.deed import Act, Deed
from incremental_assets.core.model.table_id import TableId


def record(
    connection: Connection, database: Database, act: Act, of: Iterable[str | TableId], who: tuple[str, str, str]
) -> None:
    """One row for each table, or source by its name. `who`: by whom, why, and the run that does it."""
    by, reason, run_id = who
    for each in of:
        row = {**names_of(each), "at": database.now(), "act": str(act)}
        connection.execute(deeds.insert().values(**row, done_by=by, reason=reason, run_id=run_id))


def latest(connection: Connection, most: int) -> tuple[Deed, ...]:
    """The last ones, oldest first, each with the last event that its run has recorded of its table."""
    c, of = checkpoints.c, deeds.c
    last = (
        select(func.max(c.event_id)).where(same_table(c, of), c.run_id == of.run_id, of.run_id != "").correlate(deeds)
    )
    came_to = select(c.event).where(c.event_id == last.scalar_subquery()).correlate(deeds).scalar_subquery()
    rows = connection.execute(select(deeds, came_to.label("came_to")).order_by(of.deed_id.desc()).limit(most)).all()
    return tuple(map(_deed, reversed(rows)))


def _deed(row: Any) -> Deed:
    whole = not (row.schema_name or row.table_name)
    table = None if whole else TableId(row.source, row.schema_name, row.table_name)
    return Deed(row.at, Act(row.act), row.source, table, row.done_by, row.reason, row.run_id, row.came_to or "")
