"""Leases as rows of `heartbeats`: one writer per table, on the database's clock."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from typing import Any

from sqlalchemy import ColumnElement, Connection, Label, Select, Update, bindparam, collate, select, update

from incremental_assets.adapters.checkpoints.database import Database
from incremental_assets.adapters.checkpoints.group_commit import GroupCommit
from incremental_assets.adapters.checkpoints.heartbeat import Heartbeats, Held
from incremental_assets.adapters.checkpoints.pauses import all_pauses, is_paused
from incremental_assets.adapters.checkpoints.tables import among, heartbeats, is_named, named, names_of, table_of
from incremental_assets.adapters.process import ProcessIdentity
from incremental_assets.core.errors import Busy, LeaseLost, Paused, sentence
from incremental_assets.core.model.cures import resume
from incremental_assets.core.model.pause import Pause
from incremental_assets.core.model.table_id import TableId

log = logging.getLogger(__name__)

_FREE = dict.fromkeys(("token", "run_id", "host", "machine", "pid", "process_started", "taken_at", "expires_at"), None)
_ROW = select(heartbeats).where(is_named(heartbeats.c))
_OURS = update(heartbeats).where(is_named(heartbeats.c), heartbeats.c.token == bindparam("of_token"))
_RELEASES = _OURS.values(_FREE)


@dataclass(frozen=True, slots=True)
class Pace:
    """How often a lease is renewed, and how long it lasts without."""

    heartbeat: timedelta = timedelta(seconds=5)
    expiry: timedelta = timedelta(seconds=60)


class Leases:
    """Takes, renews, proves and releases."""

    def __init__(self, database: Database, writes: GroupCommit, pace: Pace) -> None:
        self._database, self._writes, self._pace = database, writes, pace
        self._heartbeats = Heartbeats(self._renew, pace.heartbeat.total_seconds())

    @contextmanager
    def hold(self, table: TableId, run_id: str, *, even_paused: bool) -> Iterator[str]:
        """The token of a lease that is kept alive until the end of the block. Raises Busy, and Paused unless `even_paused`."""
        token = uuid.uuid4().hex
        self._take(table, run_id, token, even_paused=even_paused)
        self._heartbeats.add((table, token))
        try:
            yield token
        finally:
            self._heartbeats.remove((table, token))
            self._release(table, token)

    def prove(self, connection: Connection, table: TableId, token: str) -> None:
        """Renew the lease within the transaction, so that it cannot be taken before the transaction ends. Raises LeaseLost."""
        renewed = connection.execute(self._renews, named(table) | {"of_token": token})
        if not renewed.rowcount:
            raise LeaseLost(table)

    def held(self, connection: Connection, tables: Iterable[TableId]) -> dict[TableId, Busy | None]:
        """Of each of the tables that was ever written why it may not be written now; None where nobody holds it, nor can take it before the transaction ends."""
        return {
            table_of(row): _refusal(connection, row)
            for row in self._all_locked(connection, among(heartbeats.c, tables))
        }

    def holders(self, connection: Connection, what: str | TableId) -> dict[TableId, Busy]:
        """The error of each table of a source, or of one, that a run holds: none of them begins before the transaction ends."""
        which = heartbeats.c.source == what if isinstance(what, str) else among(heartbeats.c, [what])
        found = {table_of(row): _holder(row) for row in self._all_locked(connection, which)}
        return {table: busy for table, busy in found.items() if busy is not None}

    def _take(self, table: TableId, run_id: str, token: str, *, even_paused: bool) -> None:
        owner = ProcessIdentity.here()

        def take(connection: Connection) -> None:
            row = self._locked(connection, table)
            busy = _holder(row) if even_paused else _refusal(connection, row)
            if busy is not None:
                raise busy
            mine = {
                "token": token,
                "run_id": run_id,
                "host": owner.host,
                "machine": owner.machine,
                "pid": owner.pid,
                "process_started": owner.started,
            }
            connection.execute(self._takes, named(table) | mine)

        self._writes.write(table, take)

    def _locked(self, connection: Connection, table: TableId) -> Any:
        """The table's row, made if it is missing, under a lock until the transaction ends (SQLite: locked as a whole already)."""
        connection.execute(self._database.insert_missing(heartbeats, names_of(table)))
        if self._database.is_postgresql:
            connection.execute(_ROW.with_for_update(), named(table))
        # Read again under the lock: a statement that had to wait for it may have read the clock before.
        return connection.execute(self._reads, named(table)).one()

    def _all_locked(self, connection: Connection, which: ColumnElement[bool]) -> Sequence[Any]:
        """These rows, as they are under a lock until the transaction ends (SQLite: locked as a whole already)."""
        rows = select(heartbeats).where(which)
        if self._database.is_postgresql:
            # In Python's order, as every other writer of several rows, so that no two wait for each other.
            columns = (heartbeats.c.source, heartbeats.c.schema_name, heartbeats.c.table_name)
            connection.execute(rows.order_by(*(collate(column, "C") for column in columns)).with_for_update())
        return connection.execute(rows.add_columns(self._expired, is_paused())).all()

    @cached_property
    def _takes(self) -> Update:
        who: dict[str, Any] = {
            name: bindparam(name) for name in ("token", "run_id", "host", "machine", "pid", "process_started")
        }
        now, until = self._database.now(), self._database.now(self._pace.expiry)
        return update(heartbeats).where(is_named(heartbeats.c)).values(**who, taken_at=now, expires_at=until)

    @cached_property
    def _renews(self) -> Update:
        return _OURS.values(expires_at=self._database.now(self._pace.expiry))

    @cached_property
    def _reads(self) -> Select[Any]:
        return _ROW.add_columns(self._expired, is_paused())

    @property
    def _expired(self) -> Label[bool]:
        return (heartbeats.c.expires_at <= self._database.now()).label("expired")

    def _renew(self, held: Sequence[Held]) -> set[Held]:
        """Renews all in one transaction, as each may have to wait for the database; returns those that this process no longer holds."""
        ours = heartbeats.c.token.in_([token for _, token in held])
        with self._database.transaction(writes=True) as connection:
            kept = {(table_of(row), row.token) for row in self._all_locked(connection, ours)}
            connection.execute(update(heartbeats).where(ours).values(expires_at=self._database.now(self._pace.expiry)))
        return {*held} - kept

    def _release(self, table: TableId, token: str) -> None:
        try:
            ours = named(table) | {"of_token": token}
            self._writes.write(table, lambda connection: connection.execute(_RELEASES, ours).rowcount)
        except Exception as error:  # noqa: BLE001 - whatever it is
            # The work of the block is done and must not be reported as a failure; without heartbeats the lease expires by itself.
            log.warning("%s: the lease could not be given back and will expire: %s", table, sentence(error))


def paused(table: TableId, pause: Pause) -> Paused:
    """The error of a table that stands still."""
    return Paused(table, pause.sentence, resume(pause))


def _refusal(connection: Connection, row: Any) -> Busy | None:
    """Why nobody may write the table now; None where somebody may."""
    pause = all_pauses(connection).of(table_of(row)) if row.paused else None
    return _holder(row) if pause is None else paused(table_of(row), pause)


def _holder(row: Any) -> Busy | None:
    """The Busy error that others get while a lease is in force; None where it is not."""
    if row.token is None or row.expired:
        return None
    holder = ProcessIdentity(row.host, row.machine, row.pid, row.process_started)
    if holder.is_gone:
        return None
    return Busy(table_of(row), f"{holder}, run {row.run_id}, since {row.taken_at:%Y-%m-%d %H:%M:%S}Z")
