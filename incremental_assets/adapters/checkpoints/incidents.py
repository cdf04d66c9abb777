"""The rows of `incidents`: what each channel was notified of, so that of all processes one says it, once, and once that it is over."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Any

from sqlalchemy import ColumnElement, Connection, and_, delete, func, select, update

from incremental_assets.adapters.checkpoints.changes import change_of
from incremental_assets.adapters.checkpoints.database import Database
from incremental_assets.adapters.checkpoints.looks import all_looks
from incremental_assets.adapters.checkpoints.pauses import all_pauses, names_of
from incremental_assets.adapters.checkpoints.standings import all_standings
from incremental_assets.adapters.checkpoints.tables import checkpoints, incidents, schema_changes, table_of
from incremental_assets.core.model.incident import About, Incident, News
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.operations.incidents import Situation

_CLAIMED = timedelta(minutes=2)
"""How long others leave to a process what it is about to say; afterwards it has died, or the channel was down, and somebody tries again."""
_HOUR, _DAY = timedelta(hours=1), timedelta(days=1)


def situation_of(connection: Connection, database: Database) -> Situation:
    """All that incidents are judged by."""
    c, changes = checkpoints.c, schema_changes.c
    of = (c.source, c.schema_name, c.table_name)
    recent = (c.completed_at >= database.now(-_HOUR), c.rows_quarantined > 0)
    held = connection.execute(select(*of, func.sum(c.rows_quarantined).label("rows")).where(*recent).group_by(*of))
    changed: dict[TableId, tuple[str, tuple[str, ...]]] = {}
    for row in connection.execute(
        select(schema_changes).where(changes.at >= database.now(-_DAY)).order_by(changes.change_id)
    ):
        run, before = changed.get(table_of(row), ("", ()))
        changed[table_of(row)] = row.run_id, (*(before if run == row.run_id else ()), str(change_of(row)))
    return Situation(
        now=connection.execute(select(database.now())).scalar_one(),
        standings=all_standings(connection, database),
        looks=all_looks(connection),
        pauses=all_pauses(connection),
        quarantined={table_of(row): int(row.rows) for row in held},
        changed=changed,
    )


def claim(
    connection: Connection,
    database: Database,
    channel: str,
    found: Iterable[Incident],
    is_paused: Callable[[str, TableId | None], bool],
) -> News:
    """What nobody has said yet, and what is over of that which was said; for `said` to confirm. Others leave it alone for a while."""
    now = connection.execute(select(database.now())).scalar_one()
    there = {_key_of(each): each for each in found}
    kept = {_key(row): row for row in connection.execute(select(incidents).where(incidents.c.channel == channel))}
    for key, each in there.items():
        if key not in kept:
            begun = {**_names(channel, each), "sentence": each.sentence, "begun_at": now}
            connection.execute(database.insert_missing(incidents, begun))
        elif kept[key].ended_at is not None:
            connection.execute(update(incidents).where(_is(channel, each)).values(ended_at=None))
    for key, row in kept.items():
        each = _incident(row)
        if key in there or is_paused(each.source, each.table):
            continue
        is_claimed = row.claimed_at is not None and row.claimed_at > now - _CLAIMED
        if each.about is About.SCHEMA_CHANGE or (row.said_at is None and not is_claimed):
            # Nothing that would be over, or over before anybody has said that it began.
            connection.execute(delete(incidents).where(_is(channel, each)))
        elif row.ended_at is None:
            connection.execute(update(incidents).where(_is(channel, each)).values(ended_at=database.now()))
    c = incidents.c
    is_free = c.claimed_at.is_(None) | (c.claimed_at <= now - _CLAIMED)
    waits = c.said_at.is_(None) | c.ended_at.is_not(None)
    # All that one claim finds begins at once, and a source stands before its tables.
    asked = select(incidents).where(c.channel == channel, waits, is_free).order_by(c.begun_at, c.table_name)
    rows = connection.execute(asked.with_for_update()).all()
    for free in rows:
        connection.execute(update(incidents).where(_is(channel, _incident(free))).values(claimed_at=database.now()))
    return News(
        tuple(_incident(row) for row in rows if row.said_at is None),
        tuple(_incident(row) for row in rows if row.said_at is not None),
    )


def said(connection: Connection, database: Database, channel: str, news: News) -> None:
    """All of it has reached the channel."""
    for each in news.begun:
        values = {"said_at": database.now(), "claimed_at": None}
        connection.execute(update(incidents).where(_is(channel, each)).values(values))
    for each in news.over:
        connection.execute(delete(incidents).where(_is(channel, each)))


def _names(channel: str, each: Incident) -> dict[str, str]:
    of = names_of(each.source if each.table is None else each.table)
    return {"channel": channel, "about": str(each.about), "mark": each.mark, **of}


def _is(channel: str, each: Incident) -> ColumnElement[bool]:
    return and_(*(incidents.c[name] == value for name, value in _names(channel, each).items()))


def _key_of(each: Incident) -> tuple[Any, ...]:
    return each.about, each.source, each.table, each.mark


def _key(row: Any) -> tuple[Any, ...]:
    return _key_of(_incident(row))


def _incident(row: Any) -> Incident:
    table = table_of(row) if row.schema_name or row.table_name else None
    return Incident(About(row.about), row.source, table, row.sentence, row.mark)
