"""A source behind a pooler that lends its connections for a transaction, to us and to an application of the same role."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg

from incremental_assets.adapters.databases.probe import SqlProbe
from incremental_assets.core.checks.doctor import Wanted
from incremental_assets.core.model.observe_request import ObserveRequest
from incremental_assets.core.model.window import Window
from tests.adapters.source import READER, UPDATED, Source, observe, planned
from tests.pgbouncer import OpenPooler, PgBouncer

ORDERS = "CREATE TABLE orders (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, note text, updated_at timestamptz NOT NULL DEFAULT now())"
LEFT = """
SELECT array_agg(name || '=' || setting ORDER BY name), (SELECT count(*) FROM pg_prepared_statements), (SELECT count(*) FROM pg_cursors),
       (SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND locktype NOT IN ('virtualxid', 'relation')),
       (SELECT count(*) FROM pg_class WHERE relnamespace = pg_my_temp_schema()), (SELECT count(*) FROM pg_listening_channels()), current_user
FROM pg_settings WHERE source = 'session' OR name IN ('search_path', 'transaction_read_only', 'application_name')
"""
"""All that a client may leave behind for the next one."""


@dataclass(frozen=True)
class Pooled:
    """What both reach by the same port, as the same role."""

    source: Source
    pooler: PgBouncer

    def open(self, **changes: Any) -> SqlProbe:
        return self.source.open(READER, port=self.pooler.port, **changes)

    def application(self, **named: str) -> psycopg.Connection[Any]:
        return psycopg.connect(self.pooler.dsn(self.source.database, READER), prepare_threshold=None, **named)  # type: ignore[arg-type]

    def left(self) -> tuple[Any, ...]:
        """What an application finds in the only connection."""
        with self.application() as asked:
            return asked.execute(LEFT).fetchone() or ()


@contextmanager
def pooled(source: Source, pgbouncer: OpenPooler, connections: int, mode: str = "transaction") -> Iterator[Pooled]:
    source.execute(ORDERS, f"GRANT ALL ON orders TO {READER}", f"GRANT pg_read_all_stats TO {READER}")
    logins = {READER: source.postgres.password_of(READER)}
    with pgbouncer(logins, pool_mode=mode, default_pool_size=str(connections)) as pooler:
        yield Pooled(source, pooler)
        for probe in source.opened:
            probe.close()


def test_nothing_that_we_ask_leaves_anything_behind(source: Source, pgbouncer: OpenPooler) -> None:
    with pooled(source, pgbouncer, 1) as shared:
        shared.left()
        before = shared.left()
        probe, table = shared.open(), source.spec("orders", UPDATED)
        source.execute("INSERT INTO orders (note) VALUES ('a'), ('b')")
        plan = planned(probe, table)
        held: list[object] = []
        asks = {
            "catalogue": probe.catalogue,
            "bound": probe.bound,
            "observe": lambda: observe(probe, table),
            "lag": lambda: probe.lag((ObserveRequest(table, None), ObserveRequest(table, None))),
            "measure": lambda: probe.measure(table, (Window(None, None),)),
            "row_hash": probe.row_hash,
            "facts": lambda: probe.facts((Wanted(table.id, ("updated_at",)),)),
            "lateness": lambda: probe.lateness((table,)),
            "describe": lambda: probe.describe((table.shape,)),
            "foresee": lambda: probe.foresee((plan,)),
            "snapshot": lambda: _enter(probe.snapshot(plan), held),
            "keys": lambda: _enter(probe.keys(table), held),
            "placed_rows": lambda: _enter(probe.placed_rows(table, (Window(None, None),)), held),
        }
        for name, ask in asks.items():
            ask()
            assert shared.left() == before, name


def _enter(opened: Any, held: list[object]) -> None:
    with opened as found:
        held.append(found)
