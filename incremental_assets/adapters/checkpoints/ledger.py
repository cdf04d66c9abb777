"""The ledger for those who watch it: what is known now, read again only when something was written, and each ended sync counted once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from sqlalchemy import Connection, func, select

from incremental_assets.adapters.checkpoints.database import Database
from incremental_assets.adapters.checkpoints.looks import all_looks
from incremental_assets.adapters.checkpoints.pauses import all_pauses
from incremental_assets.adapters.checkpoints.standings import all_standings, holder_of
from incremental_assets.adapters.checkpoints.tables import (
    catalogue,
    checkpoints,
    heartbeats,
    installation,
    looks,
    pauses,
    schema_changes,
    table_of,
    verifications,
)
from incremental_assets.core.operations.known import Known
from incremental_assets.core.operations.tally import Ended, Tally
from incremental_assets.core.planning.events import EventKind
from incremental_assets.core.planning.plan import Mode
from incremental_assets.core.planning.report import RowCounts, Status

_SETTLED = timedelta(minutes=5)
"""A transaction of ours is ended by its server long before: no event that old becomes visible any more."""
_WINDOW = 1_000
_COUNTS = ("read", "inserted", "updated", "deleted", "unchanged", "late", "quarantined")


class Ledger:
    """One reader of a checkpoint database. Not for several threads at once."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._begin("")

    def tables_revision(self) -> object:
        """Another value once there may be other tables: a catalogue was seen anew, or a table was written that never was before."""
        if not self._database.exists:
            return None
        with self._database.transaction() as connection:
            return (
                connection.execute(select(installation.c.id)).scalar(),
                frozenset(map(tuple, connection.execute(select(catalogue.c.source, catalogue.c.seen_at)))),
                connection.execute(select(func.count()).select_from(heartbeats)).scalar(),
            )

    def revision(self) -> object:
        """Another value once anything that `read` gives may have changed. Asks a few rows, whatever the history."""
        if not self._database.exists:
            return None
        with self._database.transaction() as connection:
            newest = connection.execute(select(func.max(checkpoints.c.event_id))).scalar() or 0
            # An event can become visible behind one with a higher number.
            recent = select(func.count()).where(checkpoints.c.event_id > newest - _WINDOW)
            alive = (heartbeats.c.expires_at > self._database.now()).label("alive")
            leases = connection.execute(select(heartbeats, alive).where(heartbeats.c.token.is_not(None)))
            return (
                connection.execute(select(installation.c.id)).scalar(),
                newest,
                connection.execute(recent).scalar(),
                frozenset(row.token for row in leases if holder_of(row)),
                connection.execute(select(func.count()).select_from(pauses)).scalar(),
                *(
                    tuple(connection.execute(select(*(func.max(column) for column in columns))).one())
                    for columns in (
                        (schema_changes.c.change_id,),
                        (verifications.c.verified_at,),
                        (catalogue.c.seen_at,),
                        (looks.c.looked_at, looks.c.failed_at),
                        (pauses.c.since,),
                    )
                ),
            )

    def read(self) -> Known:
        """All that is known now, at one moment."""
        if not self._database.exists:
            return Known()
        with self._database.transaction() as connection:
            self._count(connection)
            return Known(
                all_standings(connection, self._database),
                all_looks(connection),
                self._tally,
                _changes(connection),
                all_pauses(connection),
            )

    def _begin(self, installed: str) -> None:
        self._installed, self._tally = installed, Tally()
        self._settled, self._counted = 0, set[int]()

    def _count(self, connection: Connection) -> None:
        """Add the syncs that have ended since. Of those behind `_settled` each that was counted is remembered, as others may still come between them."""
        c = checkpoints.c
        installed = connection.execute(select(installation.c.id)).scalar() or ""
        newest = connection.execute(select(func.max(c.event_id))).scalar() or 0
        if installed != self._installed or newest < max(self._counted, default=self._settled):
            self._begin(installed)  # another database, or an older one that was put back
        ended = (c.event_id > self._settled) & c.event.in_([EventKind.LANDED.value, EventKind.FAILED.value])
        found = {row.event_id for row in connection.execute(select(c.event_id).where(ended))}
        new = found - self._counted
        for row in _rows(connection, min(new, default=newest + 1)):
            if row.event_id in new:
                self._tally.add(_ended(row))
        until = select(func.max(c.event_id)).where(
            c.event_id > self._settled, c.at < self._database.now(-_SETTLED), c.event_id <= newest
        )
        self._settled = connection.execute(until).scalar() or self._settled
        self._counted = {each for each in found if each > self._settled}


def _rows(connection: Connection, first: int) -> Iterator[Any]:
    c = checkpoints.c
    columns = (c.event_id, c.source, c.schema_name, c.table_name, c.event, c.mode, c.status, c.seconds, c.stages)
    counts = (c[f"rows_{name}"] for name in _COUNTS)
    asked = select(*columns, *counts).where(
        c.event_id >= first, c.event.in_([EventKind.LANDED.value, EventKind.FAILED.value])
    )
    yield from connection.execute(asked)


def _ended(row: Any) -> Ended:
    counts = {name: getattr(row, f"rows_{name}") or 0 for name in _COUNTS}
    return Ended(
        table_of(row),
        Status(row.status or row.event),
        Mode(row.mode or Mode.SYNC),
        RowCounts(**counts),
        row.seconds,
        json.loads(row.stages or "{}"),
    )


def _changes(connection: Connection) -> dict[tuple[Any, str], int]:
    c = schema_changes.c
    of = (c.source, c.schema_name, c.table_name, c.change)
    counted = select(*of, func.count().label("number")).group_by(*of)
    return {(table_of(row), row.change): row.number for row in connection.execute(counted)}
