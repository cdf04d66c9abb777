"""The rows of `objectives` and `late`: when a copy was late. Each look adds what was so since the one before; a table that keeps its objective costs nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    ScalarSelect,
    bindparam,
    delete,
    func,
    insert,
    select,
    update,
)

from incremental_assets.adapters.checkpoints.database import Database
from incremental_assets.adapters.checkpoints.looks import all_looks
from incremental_assets.adapters.checkpoints.pauses import names_of, paused_during
from incremental_assets.adapters.checkpoints.tables import (
    Instant,
    among,
    checkpoints,
    heartbeats,
    is_named,
    is_table,
    late,
    named,
    objectives,
    same_table,
    table_of,
)
from incremental_assets.core.model.kept import During, Ends, Kept
from incremental_assets.core.model.look import Look, Looked
from incremental_assets.core.model.objective import Objectives
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.operations.burn_rates import MONTH, WINDOWS
from incremental_assets.core.operations.lateness import Moved, lateness
from incremental_assets.core.planning.events import EventKind
from incremental_assets.core.planning.plan import Mode
from incremental_assets.core.planning.report import Status

_KEEP = MONTH + timedelta(days=1)
_AT_ONCE = 10
_PUT_BACK = (EventKind.RESET.value, EventKind.REBUILT.value)
_GOES_ON = (Mode.SYNC.value, Mode.FULL_REFRESH.value)
_NO_EVENT = 2**63 - 1

# Made once, as that takes longer than to execute them.
_EVENTS = checkpoints.c
_NEWEST = (
    select(_EVENTS.event_id, _EVENTS.event, _EVENTS.mode, _EVENTS.at, _EVENTS.started_at)
    .where(is_named(_EVENTS), _EVENTS.state.is_not(None), _EVENTS.event_id < bindparam("below", type_=BigInteger))
    .order_by(_EVENTS.event_id.desc())
    .limit(_AT_ONCE)
)
_LONGER = (
    update(late)
    .where(is_named(late.c), late.c.ends == bindparam("until", type_=Instant))
    .values(ends=bindparam("now_until", type_=Instant))
)
_ONE_MORE = insert(late)


def record_late(connection: Connection, source: str, before: Looked, look: Look) -> None:
    """Add what was late between the last look and this one, which is recorded already. A table without an objective is forgotten."""
    looked_at = all_looks(connection)[source].looked_at
    known = _since(connection, objectives.c.source == source)
    if gone := known.keys() - look.within.keys():
        for rows in (objectives, late):
            connection.execute(delete(rows).where(among(rows.c, gone)))
    new = [{**names_of(table), "since": looked_at} for table in look.within if table not in known]
    if new:
        connection.execute(insert(objectives), new)
    if looked_at is None or before.looked_at is None:
        return
    found = []
    for table, begun in known.items():
        period, within = During(max(begun, before.looked_at), looked_at), look.within.get(table)
        if within is not None and (table in look.behind or _may_be_late(table, period, before, within)):
            found += [(table, each) for each in _late(connection, table, period, before, within)]
    for table, each in found:
        _add(connection, table, each)
    if found:
        connection.execute(delete(late).where(late.c.source == source, late.c.ends < looked_at - _KEEP))


def kept_of(connection: Connection, database: Database, slos: Mapping[TableId, Objectives]) -> dict[TableId, Kept]:
    """How each of these tables was kept in the last month, up to now."""
    now: datetime = connection.execute(select(database.now())).scalar_one()
    looks, since = all_looks(connection), _since(connection)
    recorded: dict[TableId, list[During]] = {}
    for row in connection.execute(select(late).where(late.c.ends > now - MONTH)):
        recorded.setdefault(table_of(row), []).append(During(row.begins, row.ends))
    first = _first(connection, database)
    ends = _ends(connection, [table for table, slo in slos.items() if slo.success is not None], first)
    paused, found = paused_during(connection, now), {}
    for table, slo in slos.items():
        looked, spans = looks.get(table.source, Looked()), recorded.get(table, [])
        if slo.freshness is not None and table in since:
            period = During(max(since[table], looked.looked_at or now), now)
            if _may_be_late(table, period, looked, slo.freshness.within):
                spans += _late(connection, table, period, looked, slo.freshness.within)
        by_name = (table.source, table.schema, table.name), (table.source, "", "")
        still = [each for name in by_name for each in paused.get(name, ())]
        found[table] = Kept(
            until=now,
            since=since.get(table),
            late=tuple(part for each in spans for part in each.without(still)),
            ends=ends.get(table, {}),
        )
    return found


def _may_be_late(table: TableId, period: During, before: Looked, within: timedelta) -> bool:
    """Unless the look with which the period begins saw the table in step, and the period is that short."""
    return table in before.behind or period.ends - period.begins > within


def _late(
    connection: Connection, table: TableId, period: During, before: Looked, within: timedelta
) -> Iterator[During]:
    by_syncs, moves = _moves(connection, table, period)
    by_looks = before.in_step(table)
    # What looks saw before the copy was put back says nothing of it; the look itself came later.
    is_known = by_syncs is not None or table not in before.behind
    in_step = max(filter(None, (by_syncs, by_looks)), default=None) if is_known else None
    yield from lateness(period, in_step, moves, within)


def _moves(connection: Connection, table: TableId, period: During) -> tuple[datetime | None, list[Moved]]:
    """When the copy was in step by its syncs alone as the period began, and what they and those who put it back have changed of that within."""
    moves: list[Moved] = []
    for row in _newest_first(connection, table):
        is_back = row.event in _PUT_BACK or row.mode == Mode.ROLLBACK.value
        if not is_back and row.mode not in _GOES_ON:
            continue
        moved = Moved(row.at, None if is_back else row.started_at)
        if moved.at <= period.begins:
            return moved.in_step, moves[::-1]
        if moved.at < period.ends:
            moves.append(moved)
    return None, moves[::-1]


def _newest_first(connection: Connection, table: TableId) -> Iterator[Any]:
    """The events of a table that have a state, by an index of their own, and not many more of them than are taken."""
    below = _NO_EVENT
    while True:
        rows = connection.execute(_NEWEST, {**named(table), "below": below}).all()
        yield from rows
        if len(rows) < _AT_ONCE:
            return
        below = rows[-1].event_id


def _add(connection: Connection, table: TableId, each: During) -> None:
    """One span more, or the last one longer."""
    longer = {**named(table), "until": each.begins, "now_until": each.ends}
    if not connection.execute(_LONGER, longer).rowcount:
        connection.execute(_ONE_MORE, {**names_of(table), "begins": each.begins, "ends": each.ends})


def _first(connection: Connection, database: Database) -> dict[timedelta, int]:
    """The first event that ended a sync within each window; counting from there on by table and event needs an index alone."""
    c, windows = checkpoints.c, (*WINDOWS, MONTH)
    ended = select(c.event_id).order_by(c.completed_at).limit(1)
    asked: Any = select(*(ended.where(c.completed_at >= database.now(-window)).scalar_subquery() for window in windows))
    return {window: event_id or 0 for window, event_id in zip(windows, connection.execute(asked).one(), strict=True)}


def _ends(
    connection: Connection, tables: Sequence[TableId], first: Mapping[timedelta, int]
) -> dict[TableId, dict[timedelta, Ends]]:
    """Of all tables at once, each count by an index alone."""
    begun = {window: event_id for window, event_id in first.items() if event_id}
    if not tables or not begun:
        return {}
    c, of = checkpoints.c, heartbeats.c

    def number(event: EventKind, event_id: int, *more: ColumnElement[bool]) -> ScalarSelect[int]:
        mine = (same_table(c, of), c.event == event.value, c.event_id >= event_id)
        return select(func.count(c.event_id)).where(*mine, *more).correlate(heartbeats).scalar_subquery()

    # Refused syncs wait for a person, and are no failures of the service.
    failed = c.status == Status.FAILED.value
    counts: Any = select(
        of.source,
        of.schema_name,
        of.table_name,
        *(number(EventKind.LANDED, event_id).label(f"landed_{at}") for at, event_id in enumerate(begun.values())),
        *(
            number(EventKind.FAILED, event_id, failed).label(f"failed_{at}")
            for at, event_id in enumerate(begun.values())
        ),
    )
    if len(tables) == 1:
        counts = counts.where(is_table(of, tables[0]))
    return {
        table_of(row): {
            window: Ends(getattr(row, f"landed_{at}"), getattr(row, f"failed_{at}")) for at, window in enumerate(begun)
        }
        for row in connection.execute(counts)
    }


def _since(connection: Connection, *conditions: ColumnElement[bool]) -> dict[TableId, datetime]:
    return {table_of(row): row.since for row in connection.execute(select(objectives).where(*conditions))}
