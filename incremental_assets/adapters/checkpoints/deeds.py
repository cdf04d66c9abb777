"""The rows of `deeds`: what people have asked for beside syncs. Appended, never edited, and chained, so that an edit shows."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, Text, func, literal, select, text, type_coerce

from incremental_assets.adapters.checkpoints.database import Database
from incremental_assets.adapters.checkpoints.pauses import names_of
from incremental_assets.adapters.checkpoints.tables import checkpoints, configurations, deeds, same_table
from incremental_assets.core.config.effective import Effective
from incremental_assets.core.model.deed import Act, Deed, DeedChain
from incremental_assets.core.model.table_id import TableId

_AS_THEY_ARE = [type_coerce(each, Text).label("at") if each.name == "at" else each for each in deeds.c]
"""Also where somebody has put in the place of a moment what is none: that is to be named, and no error."""
_NEVER = datetime.fromtimestamp(0, UTC)


def take_turn(connection: Connection, database: Database) -> None:
    """No other deed is written until the transaction ends, as each carries a hash of the one before. Asked first in it: two who touch other rows before would wait for each other."""
    if database.is_postgresql:
        connection.execute(text("LOCK TABLE deeds IN SHARE ROW EXCLUSIVE MODE"))


def record(
    connection: Connection, database: Database, act: Act, of: Iterable[str | TableId], who: tuple[str, str, str]
) -> None:
    """One row for each table, or source by its name, in a turn that was taken. `who`: by whom, why, and the run that does it."""
    by, reason, run_id = who
    before = connection.execute(select(deeds.c.chain).order_by(deeds.c.deed_id.desc()).limit(1)).scalar() or ""
    for each in of:
        row = {**names_of(each), "at": database.now(), "act": str(act)}
        insert = deeds.insert().values(**row, done_by=by, reason=reason, run_id=run_id).returning(deeds)
        written = connection.execute(insert).one()
        before = _chained(before, written)
        connection.execute(deeds.update().where(deeds.c.deed_id == written.deed_id).values(chain=before))


def latest(connection: Connection, most: int) -> tuple[Deed, ...]:
    """The last ones, oldest first, each with the last event that its run has recorded of its table."""
    c, of = checkpoints.c, deeds.c
    last = (
        select(func.max(c.event_id)).where(same_table(c, of), c.run_id == of.run_id, of.run_id != "").correlate(deeds)
    )
    came_to = select(c.event).where(c.event_id == last.scalar_subquery()).correlate(deeds).scalar_subquery()
    rows = connection.execute(
        select(*_AS_THEY_ARE, came_to.label("came_to")).order_by(of.deed_id.desc()).limit(most)
    ).all()
    return tuple(map(_deed, reversed(rows)))


def configured(connection: Connection, source: str) -> Effective | None:
    """What the configuration of a source came to when it was used last; None where it never was."""
    asked = select(configurations.c.effective).where(configurations.c.source == source)
    found = connection.execute(asked).scalar()
    return None if found is None else dict(json.loads(found))


def chain(connection: Connection) -> DeedChain:
    """Whether each row is as it was written, behind the row that was there before it."""
    before, begun, rows, altered = "", False, 0, list[Deed]()
    for row in connection.execute(select(*_AS_THEY_ARE, literal("").label("came_to")).order_by(deeds.c.deed_id)):
        rows += 1
        # Rows of releases that had no chain come first, and nothing is known of them.
        begun = begun or row.chain != ""
        if begun and row.chain != _chained(before, row):
            altered.append(_deed(row))
        before = row.chain
    return DeedChain(rows, before, tuple(altered))


def _chained(before: str, row: Any) -> str:
    at = _moment(row.at).isoformat(timespec="milliseconds")
    told = [before, at, row.act, row.source, row.schema_name, row.table_name, row.done_by, row.reason, row.run_id]
    return hashlib.sha256(json.dumps([str(each) for each in told]).encode()).hexdigest()


def _moment(found: Any) -> datetime:
    """Of a row that somebody has edited it may be none."""
    try:
        return (datetime.fromisoformat(found).replace(tzinfo=UTC) if isinstance(found, str) else found).astimezone(UTC)
    except (ValueError, AttributeError):
        return _NEVER


def _act(found: str) -> Act | str:
    try:
        return Act(found)
    except ValueError:
        return found


def _deed(row: Any) -> Deed:
    whole = not (row.schema_name or row.table_name)
    table = None if whole else TableId(row.source, row.schema_name, row.table_name)
    return Deed(
        _moment(row.at), _act(row.act), row.source, table, row.done_by, str(row.reason), row.run_id, row.came_to or ""
    )
