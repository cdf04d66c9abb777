"""The rows of `pauses`: what a person has paused. A lease is refused by them in the transaction that would take it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Label, and_, delete, exists, or_, select

from incremental_assets.adapters.checkpoints.database import Database
from incremental_assets.adapters.checkpoints.tables import deeds, heartbeats, pauses, same_table
from incremental_assets.core.model.deed import Act
from incremental_assets.core.model.kept import During
from incremental_assets.core.model.pause import Pause, Pauses
from incremental_assets.core.model.table_id import TableId

_WHOLE = and_(pauses.c.schema_name == "", pauses.c.table_name == "")


def all_pauses(connection: Connection) -> Pauses:
    """Everything that is paused."""
    return Pauses(_pause(row) for row in connection.execute(select(pauses)))


def is_paused() -> Label[bool]:
    """Of a row of `heartbeats`, whether its table or its source is."""
    of = and_(pauses.c.source == heartbeats.c.source, or_(_WHOLE, same_table(pauses.c, heartbeats.c)))
    return exists().where(of).correlate(heartbeats).label("paused")


def pause(connection: Connection, database: Database, what: str | TableId, by: str, reason: str) -> Pause:
    """Pause a table, or the source of this name. One that is paused has another reason from then on, since the same moment."""
    before = connection.execute(select(pauses).where(_is(what))).first()
    row = {**names_of(what), "paused_by": by, "reason": reason, "since": before.since if before else database.now()}
    connection.execute(database.upsert(pauses, row))
    return _pause(connection.execute(select(pauses).where(_is(what))).one())


def resume(connection: Connection, what: str | TableId) -> Pause | None:
    """Give back what was paused; None where it was not."""
    before = connection.execute(select(pauses).where(_is(what))).first()
    connection.execute(delete(pauses).where(_is(what)))
    return _pause(before) if before else None


def paused_during(connection: Connection, until: datetime) -> dict[tuple[str, str, str], list[During]]:
    """When each table and each source was paused, by the columns that name them, as people's deeds say."""
    of = deeds.c
    begun: dict[tuple[str, str, str], datetime] = {}
    found: dict[tuple[str, str, str], list[During]] = {}
    for row in connection.execute(select(deeds).where(of.act.in_([Act.PAUSE, Act.RESUME])).order_by(of.deed_id)):
        what = row.source, row.schema_name, row.table_name
        if row.act == Act.PAUSE:
            begun.setdefault(what, row.at)
        elif what in begun:
            found.setdefault(what, []).append(During(begun.pop(what), row.at))
    for what, since in begun.items():
        found.setdefault(what, []).append(During(since, until))
    return found


def names_of(what: str | TableId) -> dict[str, str]:
    """The columns that name a table, or a whole source."""
    source, schema, table = (what, "", "") if isinstance(what, str) else (what.source, what.schema, what.name)
    return {"source": source, "schema_name": schema, "table_name": table}


def _is(what: str | TableId) -> ColumnElement[bool]:
    return and_(*(pauses.c[name] == value for name, value in names_of(what).items()))


def _pause(row: Any) -> Pause:
    table = TableId(row.source, row.schema_name, row.table_name) if row.table_name or row.schema_name else None
    return Pause(row.source, table, row.paused_by, row.reason, row.since)
