"""The minute under load on MariaDB and MySQL: eight writers whose transactions commit out of order, and syncs that never stop.

The source is real; the copy is a dict, as a sync reads its rows, so that it is looked at some times in each second. A module of either server imports
all of it and gives the fixture `server`.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pyarrow.parquet as pq
import pytest

from incremental_assets.adapters.databases.probe import SqlProbe
from incremental_assets.core.captures.database.landed_state import landed_state
from incremental_assets.core.model.cursor import CursorType
from incremental_assets.core.model.guarantee import Guarantee
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import Cursor, TableSpec
from incremental_assets.core.planning.plan import NothingToDo
from incremental_assets.core.strategies import Strategy
from tests.adapters.databases.contract import decided, spec_of
from tests.adapters.databases.mysql_contract import Shop
from tests.snapshots import as_read

SECONDS, WRITERS = 60, 8
STAMPED = "timestamp(6) NOT NULL DEFAULT NOW(6) ON UPDATE NOW(6)"
MAKE = (
    f"CREATE TABLE orders (id bigint PRIMARY KEY, version int NOT NULL, updated_at {STAMPED}, KEY (updated_at))",
    f"CREATE TABLE visits (id bigint AUTO_INCREMENT PRIMARY KEY, who int NOT NULL, at {STAMPED}, KEY (at))",
    "CREATE TABLE events (id bigint AUTO_INCREMENT PRIMARY KEY, who int NOT NULL)",
)


@dataclass
class Copy:
    """What the syncs of one table have read: the second column by the first one."""

    spec: TableSpec
    state: State | None = None
    rows: dict[int, int] = field(default_factory=dict)
    guarantees: set[Guarantee] = field(default_factory=set)

    def sync(self, probe: SqlProbe) -> None:
        decision = decided(probe, self.spec, self.state)
        if isinstance(decision, NothingToDo):
            self.guarantees.add(decision.guarantee)
            self.state = decision.state or self.state
            return
        self.guarantees.add(decision.reading.settled.guarantee)
        with probe.snapshot(decision) as seen:
            read = pq.read_table(seen.handle, columns=["c0", "c1"]).to_pydict()
            self.rows |= dict(zip(read["c0"], read["c1"], strict=True))
            shown = as_read(seen.rows, seen.highest, seen.fingerprint, seen.due, seen.visible)
            self.state = landed_state(decision, shown)


@dataclass
class Naive:
    """A tool that reads what is above the largest value that it has seen."""

    table: str
    column: str
    seen: Any = None
    keys: set[int] = field(default_factory=set)

    def sync(self, cursor: Any) -> None:
        above = "" if self.seen is None else f"WHERE {self.column} > %s"
        cursor.execute(
            f"SELECT id, {self.column} FROM {self.table} {above}", None if self.seen is None else (self.seen,)
        )
        for key, value in cursor.fetchall():
            self.keys.add(key)
            self.seen = value if self.seen is None else max(self.seen, value)


def write(shop: Shop, seed: int, until: float) -> None:
    """Short transactions, one in twenty of them slow and one in twenty rolled back. The first statement stamps a visit, and may wait for the lock."""
    chance = random.Random(seed)
    connection = shop.connect()
    cursor = connection.cursor()
    while time.monotonic() < until:
        connection.begin()
        cursor.execute("INSERT INTO visits (who) VALUES (%s)", (seed,))
        order = chance.randrange(seed, 2000, WRITERS)
        cursor.execute("UPDATE orders SET version = version + 1, updated_at = NOW(6) WHERE id = %s", (order,))
        cursor.execute("INSERT INTO events (who) VALUES (%s)", (seed,))
        fate = chance.random()
        # The transaction's own pace, not a wait for anything.
        time.sleep(chance.uniform(1, 4) if fate < 0.05 else chance.uniform(0.01, 0.1))
        connection.rollback() if 0.05 <= fate < 0.1 else connection.commit()
    connection.close()


def lock(shop: Shop, until: float) -> None:
    """Now and then the visits are locked for longer than a transaction may hide: whoever waits has its stamp, and no transaction yet."""
    connection = shop.connect()
    cursor = connection.cursor()
    while time.monotonic() < until:
        time.sleep(4)
        cursor.execute("LOCK TABLES visits WRITE")
        time.sleep(3)
        cursor.execute("UNLOCK TABLES")
    connection.close()


@pytest.mark.acceptance
@pytest.mark.timeout(600)
def test_nothing_is_lost_in_a_minute_under_eight_writers(
    shop: Shop, record_property: Callable[[str, object], None]
) -> None:
    shop.execute(*MAKE)
    with shop.connect() as connection, connection.cursor() as cursor:
        cursor.executemany("INSERT INTO orders (id, version) VALUES (%s, 0)", [(number,) for number in range(1, 2001)])
    by = dict.fromkeys(("orders", "visits"), CursorType.TIMESTAMP)
    copies = [
        Copy(spec_of(shop, "orders", Cursor("updated_at", by["orders"]))),
        Copy(spec_of(shop, "visits", Cursor("at", by["visits"]), strategy=Strategy.APPEND)),
        Copy(spec_of(shop, "events", Cursor("id", CursorType.INTEGER), strategy=Strategy.APPEND)),
    ]
    naive = [Naive("visits", "at"), Naive("events", "id")]
    probe, until = SqlProbe(shop.address, "shop"), time.monotonic() + SECONDS
    threads = [threading.Thread(target=write, args=(shop, seed, until)) for seed in range(1, WRITERS + 1)]
    threads.append(threading.Thread(target=lock, args=(shop, until)))
    for thread in threads:
        thread.start()
    syncs = 0
    with shop.connect() as connection, connection.cursor() as cursor:
        while any(thread.is_alive() for thread in threads):
            for each in naive:
                each.sync(cursor)
            for copy in copies:
                copy.sync(probe)
            syncs += 1
        for each in naive:
            each.sync(cursor)
        for copy in copies:
            copy.sync(probe)
        source = {}
        for name, column in (("orders", "version"), ("visits", "who"), ("events", "who")):
            cursor.execute(f"SELECT id, {column} FROM {name}")
            source[name] = dict(cursor.fetchall())
    assert {copy.spec.id.name: copy.rows == source[copy.spec.id.name] for copy in copies} == dict.fromkeys(source, True)
    assert {guarantee for copy in copies for guarantee in copy.guarantees} == {Guarantee.SETTLED}
    lost = {each.table: len(source[each.table].keys() - each.keys) for each in naive}
    assert min(lost.values()) > 0, "the load was too tame to prove anything"
    counts = {name: len(rows) for name, rows in source.items()}
    record_property("measured", f"{syncs} syncs of {counts} rows; `> max(seen)` at the same moments lost {lost}")
