"""Where every table stands, in one transaction: its position, the times of its last events, the last look, lease, verification and change of columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, ScalarSelect, Select, func, select

from incremental_assets.adapters.checkpoints.changes import change_of, latest_changes
from incremental_assets.adapters.checkpoints.database import Database
from incremental_assets.adapters.checkpoints.looks import all_looks
from incremental_assets.adapters.checkpoints.positions import all_positions
from incremental_assets.adapters.checkpoints.tables import checkpoints, heartbeats, same_table, table_of, verifications
from incremental_assets.adapters.checkpoints.verifications import verified_of
from incremental_assets.adapters.process import ProcessIdentity
from incremental_assets.core.model.look import Looked
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.operations.standing import Holder, Standing, Unfinished, in_step
from incremental_assets.core.planning.events import FINISHED_KINDS, EventKind
from incremental_assets.core.planning.plan import Mode

_AT_ONCE = 10_000
"""Ids in one statement; SQLite takes 32,766."""
_GOES_ON = (Mode.SYNC.value, Mode.FULL_REFRESH.value)
"""Modes that read on to the end; the others read a window again."""
_BEGUN = (EventKind.INTENT, EventKind.STAGED)


def all_standings(connection: Connection, database: Database) -> dict[TableId, Standing]:
    """Of every table that was ever written."""
    positions = all_positions(connection)
    alive = (heartbeats.c.expires_at > database.now()).label("alive")
    holders = {table_of(row): holder_of(row) for row in connection.execute(select(heartbeats, alive))}
    verified = {table_of(row): (verified_of(row), row.verified_at) for row in connection.execute(select(verifications))}
    changed = {table_of(row): (row.at, change_of(row)) for row in connection.execute(latest_changes())}
    marks = {table_of(row): row for row in connection.execute(_marks())}
    looked = all_looks(connection)
    times = _times(connection, {wanted for mark in marks.values() for wanted in _wanted(mark) if wanted})
    found = {}
    for table, holder in holders.items():
        if table not in positions:
            found[table] = Standing(table, holder=holder)
            continue
        mark, (known, known_at) = marks[table], verified.get(table, (None, None))
        ended, landed, failed, synced, put_back = (times.get(wanted, (None, None)) for wanted in _wanted(mark))
        found[table] = Standing(
            table=table,
            position=positions[table],
            ended_at=ended[1],
            landed_at=landed[1],
            failed_at=failed[1],
            in_step_at=in_step(looked.get(table.source, Looked()).in_step(table), synced[0], put_back[1]),
            holder=holder,
            verified=known,
            verified_at=known_at,
            changed=changed.get(table),
            unfinished=_unfinished(mark, holder),
        )
    return found


def holder_of(row: Any) -> Holder | None:
    """Who holds the lease of a row of `heartbeats` that also says whether it is `alive`; None where nobody does."""
    if row.token is None or not row.alive:
        return None
    owner = ProcessIdentity(row.host, row.machine, row.pid, row.process_started)
    return None if owner.is_gone else Holder(str(owner), row.run_id, row.taken_at)


def _marks() -> Select[Any]:
    """One row per table: the id of its newest event of each kind, each found by one descent of an index."""
    kinds = {f"{kind.value}_id": _newest(kind) for kind in EventKind}
    goes_on = checkpoints.c.mode.in_(_GOES_ON)
    return select(
        heartbeats.c.source,
        heartbeats.c.schema_name,
        heartbeats.c.table_name,
        *(found.label(name) for name, found in kinds.items()),
        _newest(EventKind.LANDED, goes_on).label("synced_id"),
        _newest(EventKind.IDLE, goes_on).label("stood_id"),
        _newest(EventKind.LANDED, checkpoints.c.mode == Mode.ROLLBACK.value).label("rolled_back_id"),
    )


def _newest(kind: EventKind, *conditions: ColumnElement[bool]) -> ScalarSelect[int]:
    c = checkpoints.c
    mine = (same_table(c, heartbeats.c), c.event == kind.value)
    return select(func.max(c.event_id)).where(*mine, *conditions).correlate(heartbeats).scalar_subquery()


def _wanted(mark: Any) -> tuple[int, int, int, int, int]:
    """The events that say when a sync ended, landed, failed, and began that read on to the end, and when the copy was put back; 0 where there is none."""
    synced = max(mark.synced_id or 0, mark.stood_id or 0)
    put_back = max(_latest(mark, EventKind.RESET, EventKind.REBUILT), mark.rolled_back_id or 0)
    ended = _latest(mark, *FINISHED_KINDS)
    return ended, mark.landed_id or 0, mark.failed_id or 0, synced if synced > put_back else 0, put_back


def _latest(mark: Any, *kinds: EventKind) -> int:
    return max(getattr(mark, f"{kind.value}_id") or 0 for kind in kinds)


def _times(connection: Connection, ids: Iterable[int]) -> Mapping[int, tuple[datetime | None, datetime]]:
    """When the syncs began that these events ended, and when the events were recorded."""
    c, ordered = checkpoints.c, sorted(ids)
    found: dict[int, tuple[datetime | None, datetime]] = {}
    for first in range(0, len(ordered), _AT_ONCE):
        some = select(c.event_id, c.started_at, c.at).where(c.event_id.in_(ordered[first : first + _AT_ONCE]))
        found.update((row.event_id, (row.started_at, row.at)) for row in connection.execute(some))
    return found


def _unfinished(mark: Any, holder: Holder | None) -> Unfinished | None:
    if _latest(mark, *_BEGUN) <= _latest(mark, *(kind for kind in EventKind if kind not in _BEGUN)):
        return None
    return Unfinished.INTERRUPTED if holder is None else Unfinished.RUNNING
