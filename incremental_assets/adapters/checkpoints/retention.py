"""Events that are older than the ledger is kept: what any later question depends on stays as it is, of the others those that are counted stay as a count."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from sqlalchemy import ColumnElement, Connection, and_, case, delete, exists, func, or_, select, update

from incremental_assets.adapters.checkpoints.database import Database
from incremental_assets.adapters.checkpoints.tables import checkpoints, deeds, is_table, same_table
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.planning.events import EventKind
from incremental_assets.core.planning.plan import Mode

_COUNTED = (EventKind.LANDED, EventKind.FAILED, EventKind.RESET, EventKind.REBUILT)
"""Syncs that ended, which metrics count from the first on, and what moved the copy: they lose what they say of it."""
_SAYS: dict[str, Any] = {
    **dict.fromkeys(("previous_watermark", "new_watermark", "window_lower", "window_upper", "settled", "guarantee_reason")),
    **dict.fromkeys(("warnings", "error", "state", "report")),
    "detail": "",
}  # fmt: skip


def prune_events(connection: Connection, database: Database, table: TableId, keep: timedelta) -> tuple[int, int]:
    """How many events of a table were removed, and how many are only counted from now on.

    A position, at whatever later moment, is folded from the newest event of each kind up to then: of those before `keep` the newest ones stay whole.
    """
    c = checkpoints.c
    mine, is_old = is_table(c, table), c.at < database.now(-keep)
    until = connection.execute(select(func.max(c.event_id)).where(mine, is_old)).scalar()
    if until is None:
        return 0, 0
    newest = (func.max(case((condition, c.event_id))) for condition in _asked_for(c))
    found = connection.execute(select(*newest).where(mine, c.event_id <= until)).one()
    needed = {each for each in found if each is not None}
    of_people = exists().where(same_table(deeds.c, c), deeds.c.run_id == c.run_id)
    free = and_(mine, c.event_id <= until, is_old, c.event_id.not_in(needed), ~of_people)
    is_counted = c.event.in_([kind.value for kind in _COUNTED])
    # A backfill goes on from the windows that its runs have found as they were.
    is_backfill = and_(c.event == EventKind.IDLE.value, c.mode == Mode.BACKFILL.value)
    removed = connection.execute(delete(checkpoints).where(free, ~is_counted, ~is_backfill)).rowcount
    still = or_(c.report.is_not(None), c.state.is_not(None), c.detail != "")
    counted = connection.execute(update(checkpoints).where(free, is_counted, still).values(**_SAYS)).rowcount
    return removed, counted


def _asked_for(c: Any) -> list[ColumnElement[bool]]:
    """Of what the newest one is asked for."""
    kinds = [c.event == kind.value for kind in EventKind]
    modes = [and_(kind, c.mode == mode.value) for kind in kinds for mode in Mode]
    told = (c.state.is_not(None), c.app_id != "", c.seq.is_not(None))
    kept = [and_(kind, told) for kind in kinds for told in (c.target_table_id.is_not(None), c.report.is_not(None))]
    return [*kinds, *modes, *told, *kept]
