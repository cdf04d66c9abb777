"""Leases as rows of `heartbeats`: one writer per table, on the database's clock."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from sqlalchemy import Connection, select, update

from incremental_assets.adapters.checkpoints.database import Database
from incremental_assets.adapters.checkpoints.heartbeat import Heartbeats
from incremental_assets.adapters.checkpoints.tables import heartbeats, is_table, names_of
from incremental_assets.adapters.process import ProcessIdentity
from incremental_assets.core.errors import Busy, CheckpointsUnreachable, LeaseLost
from incremental_assets.core.model.table import TableId

log = logging.getLogger(__name__)

_FREE = dict.fromkeys(("token", "run_id", "host", "machine", "pid", "process_started", "taken_at", "expires_at"), None)


@dataclass(frozen=True, slots=True)
class Pace:
    """How often a lease is renewed, and how long it lasts without."""

    heartbeat: timedelta = timedelta(seconds=5)
    expiry: timedelta = timedelta(seconds=60)


class Leases:
    """Takes, renews, proves and releases."""

    def __init__(self, database: Database, pace: Pace) -> None:
        self._database, self._pace = database, pace
        self._heartbeats = Heartbeats(self._renew, pace.heartbeat.total_seconds())

    @contextmanager
    def hold(self, table: TableId, run_id: str) -> Iterator[str]:
        """The token of a lease that is kept alive until the end of the block. Raises Busy."""
        token = uuid.uuid4().hex
        self._take(table, run_id, token)
        self._heartbeats.add((table, token))
        try:
            yield token
        finally:
            self._heartbeats.remove((table, token))
            self._release(table, token)

    def prove(self, connection: Connection, table: TableId, token: str) -> None:
        """Renew the lease within the transaction, so that it cannot be taken before the transaction ends. Raises LeaseLost."""
        renewed = connection.execute(
            update(heartbeats)
            .where(is_table(heartbeats.c, table), heartbeats.c.token == token)
            .values(expires_at=self._database.now(self._pace.expiry))
        )
        if not renewed.rowcount:
            raise LeaseLost(table)

    def _take(self, table: TableId, run_id: str, token: str) -> None:
        owner = ProcessIdentity.here()
        with self._database.transaction(writes=True) as connection:
            row = self._locked(connection, table)
            if row.token is not None and not row.expired:
                holder = ProcessIdentity(row.host, row.machine, row.pid, row.process_started)
                if not holder.is_gone:
                    raise Busy(table, f"{holder}, run {row.run_id}, since {row.taken_at:%Y-%m-%d %H:%M:%S}Z")
            connection.execute(
                update(heartbeats)
                .where(is_table(heartbeats.c, table))
                .values(
                    token=token,
                    run_id=run_id,
                    host=owner.host,
                    machine=owner.machine,
                    pid=owner.pid,
                    process_started=owner.started,
                    taken_at=self._database.now(),
                    expires_at=self._database.now(self._pace.expiry),
                )
            )

    def _locked(self, connection: Connection, table: TableId) -> Any:
        """The table's row, made if it is missing, under a lock until the transaction ends (SQLite: locked as a whole already)."""
        connection.execute(self._database.insert_missing(heartbeats, names_of(table)))
        row = select(heartbeats).where(is_table(heartbeats.c, table))
        if self._database.is_postgresql:
            connection.execute(row.with_for_update())
        # Read again under the lock: a statement that had to wait for it may have read the clock before.
        expired = (heartbeats.c.expires_at <= self._database.now()).label("expired")
        return connection.execute(row.add_columns(expired)).one()

    def _renew(self, table: TableId, token: str) -> None:
        with self._database.transaction(writes=True) as connection:
            self.prove(connection, table, token)

    def _release(self, table: TableId, token: str) -> None:
        try:
            with self._database.transaction(writes=True) as connection:
                connection.execute(
                    update(heartbeats).where(is_table(heartbeats.c, table), heartbeats.c.token == token).values(_FREE)
                )
        except CheckpointsUnreachable as error:
            # The work of the block is done and must not be reported as a failure; without heartbeats the lease expires by itself.
            log.warning("%s: the lease could not be given back and will expire: %s", table, error)
