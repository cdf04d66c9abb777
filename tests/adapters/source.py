"""One database of the embedded PostgreSQL as the product's probe sees it, for tests of the SQL towards the source."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg

from incremental_assets.adapters.databases.dialect import Address
from incremental_assets.adapters.databases.postgresql.asked import Asked
from incremental_assets.adapters.databases.postgresql.connect import driver_arguments
from incremental_assets.adapters.databases.postgresql.greeting import greet
from incremental_assets.adapters.databases.postgresql.read_timeout import Patient
from incremental_assets.adapters.databases.probe import SqlProbe
from incremental_assets.core.captures.database.landed_state import landed_state
from incremental_assets.core.captures.database.observation import DatabaseObservation
from incremental_assets.core.captures.planner import plan
from incremental_assets.core.model.cursor import CursorType
from incremental_assets.core.model.observe_request import ObserveRequest
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import Cursor, Strategy, TableSpec
from incremental_assets.core.model.table_shape import TableShape
from incremental_assets.core.planning.plan import CommitIds, Request, SyncPlan
from incremental_assets.demo.postgres import EmbeddedPostgres
from tests.snapshots import as_read

READER = "plain_reader"
"""A login without any privilege but those that a test grants."""


@dataclass(frozen=True)
class Source:
    """`connect` opens superuser connections; `open` gives a probe, as the superuser or another role."""

    postgres: EmbeddedPostgres
    database: str
    connect: Callable[[], psycopg.Connection[Any]]
    opened: list[SqlProbe]

    def execute(self, *statements: str) -> None:
        """Each in a transaction of its own, as the superuser."""
        connection = self.connect()
        connection.autocommit = True
        for statement in statements:
            connection.execute(statement.encode())
        connection.close()

    def address(self, user: str | None = None, **changes: Any) -> Address:
        role = user or self.postgres.user
        place = {
            "host": "127.0.0.1",
            "port": self.postgres.port,
            "database": self.database,
            "password": self.postgres.password_of(role),
        }
        return Address(dialect="postgresql", user=role, **(place | changes))

    def open(self, user: str | None = None, **changes: Any) -> SqlProbe:
        self.opened.append(SqlProbe(self.address(user, **changes), "shop"))
        return self.opened[-1]

    @contextmanager
    def asked(self, user: str | None = None) -> Iterator[Asked]:
        """The cursor of a session of the product's."""
        address = self.address(user)
        with Patient.connect(**driver_arguments(address)) as connection:  # type: ignore[arg-type]
            connection.autocommit = True
            greet(connection, address)
            yield Asked(connection, address)

    def shape(self, name: str, user: str | None = None) -> TableShape:
        """As this user sees it; the superuser, if none is named."""
        return next(shape for shape in self.open(user).catalogue() if shape.id.name == name)

    def spec(self, name: str, cursor: Cursor | None = None, **changes: Any) -> TableSpec:
        return TableSpec(
            self.shape(name, changes.pop("user", None)), changes.pop("strategy", Strategy.APPEND), cursor, **changes
        )


def observe(probe: SqlProbe, spec: TableSpec, state: State | None = None) -> DatabaseObservation:
    (observation,) = probe.observe((ObserveRequest(spec, state),))
    return observation


def planned(probe: SqlProbe, spec: TableSpec, state: State | None = None, request: Request | None = None) -> SyncPlan:
    decision = plan(spec, request or Request("run"), state, CommitIds("app", 0, "batch"), observe(probe, spec, state))
    assert isinstance(decision, SyncPlan), decision
    return decision


def synced(probe: SqlProbe, spec: TableSpec, state: State | None = None) -> State:
    """The state after a sync that landed all that its snapshot showed."""
    decision = planned(probe, spec, state)
    with probe.snapshot(decision) as snapshot:
        return landed_state(decision, as_read(snapshot.rows, snapshot.highest, snapshot.fingerprint))


def synced_when_settled(probe: SqlProbe, spec: TableSpec) -> State:
    """The state after a sync that found every number settled: what the server itself writes may not be on disk yet."""
    state, until = synced(probe, spec), time.monotonic() + 60
    while state.position.settling is not None:
        assert time.monotonic() < until, state.position
        state = synced(probe, spec)
    return state


UPDATED = Cursor("updated_at", CursorType.TIMESTAMP)
