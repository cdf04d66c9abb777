"""T1, T2 for a minute: eight writers whose transactions commit out of order, and a sync that never stops."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import psycopg

from tests.conformance.conftest import OpenStand
from tests.conformance.scenario import scenario
from tests.conformance.stand import Stand

TABLES = """
- "public.orders:updated_at:timestamp!upsert"
- "public.visits:at:timestamp!append"
- "public.events:id:integer!append"
- "public.tickets:id:integer!upsert"
"""
MAKE = (
    "CREATE TABLE orders (id int PRIMARY KEY, version int NOT NULL, updated_at timestamptz NOT NULL)",
    "CREATE INDEX ON orders (updated_at)",
    "CREATE TABLE visits (who text, at timestamptz NOT NULL)",
    "CREATE INDEX ON visits (at)",
    "CREATE TABLE events (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, what text)",
    "CREATE TABLE tickets (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, what text)",
    "INSERT INTO orders SELECT n, 0, now() FROM generate_series(1, 2000) n",
)
SECONDS, WRITERS = 60, 8


@dataclass
class Naive:
    """What a tool would have that reads `> max(seen)`: the same rows, read at the same moments."""

    table: str
    column: str
    seen: Any = None
    keys: set[Any] = field(default_factory=set)

    def look(self, connection: psycopg.Connection) -> None:
        """One of its syncs."""
        above = f"WHERE {self.column} > %s" if self.seen is not None else ""
        query = f"SELECT {self.column} FROM {self.table} {above}"
        for (value,) in connection.execute(query, [self.seen] if above else None):  # type: ignore[call-overload]
            self.keys.add(value)
            self.seen = value if self.seen is None or value > self.seen else self.seen

    def lost(self, connection: psycopg.Connection) -> int:
        """Rows of the source that it has never seen."""
        return sum(value not in self.keys for (value,) in connection.execute(f"SELECT {self.column} FROM {self.table}"))  # type: ignore[call-overload]


def write(desk: Stand, seed: int, until: float) -> None:
    """Short transactions, one in twenty of them slow, one in twenty aborted; each stamps its rows with its own begin."""
    chance = random.Random(seed)
    with psycopg.connect(desk.shop.postgres.dsn(desk.shop.database), autocommit=False) as connection:
        while time.monotonic() < until:
            connection.execute(
                "UPDATE orders SET version = version + 1, updated_at = now() WHERE id = %s",
                [chance.randrange(seed, 2000, WRITERS) or WRITERS],
            )
            connection.execute("INSERT INTO visits VALUES (%s, now())", [f"writer {seed}"])
            connection.execute("INSERT INTO events (what) VALUES (%s)", [f"writer {seed}"])
            connection.execute("INSERT INTO tickets (what) VALUES (%s)", [f"writer {seed}"])
            fate = chance.random()
            # The transaction's own pace, not a wait for anything.
            time.sleep(chance.uniform(1, 4) if fate < 0.05 else chance.uniform(0.01, 0.1))
            connection.rollback() if 0.05 <= fate < 0.1 else connection.commit()


@scenario(
    "T1",
    f"{WRITERS} writers for {SECONDS} seconds, one transaction in twenty slow and one in twenty aborted, by stamps and by sequences, with a sync running throughout",
    holds="when they stop, one more sync: every table equals the source, append targets hold each row once",
    bugs=("airbyte #9668",),
    long=True,
)
def test_nothing_is_lost_under_load(stand: OpenStand, record_property: Callable[[str, object], None]) -> None:
    desk = stand(TABLES, *MAKE)
    desk.land()
    naive = [Naive("visits", "at"), Naive("events", "id")]
    until = time.monotonic() + SECONDS
    writers = [threading.Thread(target=write, args=(desk, seed, until)) for seed in range(1, WRITERS + 1)]
    for writer in writers:
        writer.start()
    syncs = 0
    with desk.shop.connect() as onlooker:
        onlooker.autocommit = True
        while any(writer.is_alive() for writer in writers):
            for other in naive:
                other.look(onlooker)
            desk.land()
            syncs += 1
        for writer in writers:
            writer.join()
        desk.land()
        lost = {}
        for other in naive:
            other.look(onlooker)
            lost[other.table] = other.lost(onlooker)

    for name in ("orders", "visits", "events", "tickets"):
        desk.assert_equal(name)
        desk.assert_tidy(name)
    late = {
        name: sum(report.rows.late for report in desk.told.reports if report.table.name == name)
        for name in ("orders", "visits", "events", "tickets")
    }
    rows = len(desk.source("SELECT id FROM events"))
    assert late["visits"], "no transaction committed late: the load was too tame to prove anything"
    assert late["events"], "no number committed late: the load was too tame to prove anything"
    record_property(
        "measured",
        f"{syncs} syncs, {rows:,} rows in each of the three tables that grow, late rows {late}; "
        f"`> max(seen)` at the same moments lost {lost['visits']:,} visits and {lost['events']:,} events",
    )
