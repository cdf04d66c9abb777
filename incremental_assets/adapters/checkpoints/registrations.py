"""The rows of `registrations`: how tables were made known to data catalogues."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, select

from incremental_assets.adapters.checkpoints.database import Database
from incremental_assets.adapters.checkpoints.pauses import names_of
from incremental_assets.adapters.checkpoints.tables import registrations, table_of
from incremental_assets.core.model.registration import Catalogue, Registered
from incremental_assets.core.model.table_id import TableId


def record_registration(connection: Connection, database: Database, done: Registered) -> None:
    """In place of the one before."""
    row: dict[str, Any] = {**names_of(done.table), "catalogue": str(done.kind), "registered_at": database.now()}
    row |= {"place": done.place, "fingerprint": done.fingerprint, "problem": done.problem}
    connection.execute(database.upsert(registrations, row))


def all_registrations(connection: Connection) -> dict[tuple[TableId, Catalogue], Registered]:
    """By table and kind of catalogue."""
    found = map(_registered, connection.execute(select(registrations)))
    return {(each.table, each.kind): each for each in found}


def _registered(row: Any) -> Registered:
    return Registered(
        table_of(row), Catalogue(row.catalogue), row.place, row.fingerprint, row.problem, row.registered_at
    )
