"""T1, T2 for a minute: eight writers whose transactions commit out of order, and a sync that never stops."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.conformance.conftest import OpenWorld
from tests.conformance.scenario import scenario
from tests.conformance.worlds import World, held

TABLES = """
- "{s}.orders:updated_at:{c}!upsert"
- "{s}.visits:at:{c}!append"
- "{s}.events:id:integer!append"
- "{s}.tickets:id:integer!upsert"
"""


def make(world: World) -> tuple[str, ...]:
    """2,000 orders to change, and three tables that grow."""
    words = world.words
    return (
        f"CREATE TABLE orders (id int NOT NULL PRIMARY KEY, version int NOT NULL, updated_at {words.stamp})",
        *world.touching("orders", "updated_at"),
        "CREATE INDEX by_update ON orders (updated_at)",
        f"CREATE TABLE visits (who varchar(20), at {words.stamp})",
        "CREATE INDEX by_visit ON visits (at)",
        f"CREATE TABLE events (id {words.numbered}, what varchar(20))",
        f"CREATE TABLE tickets (id {words.numbered}, what varchar(20))",
        f"INSERT INTO orders (id, version) SELECT n, 0 FROM {world.many(500)}",
        *(f"INSERT INTO orders (id, version) SELECT id + {more}, 0 FROM orders" for more in (500, 1000)),
    )


NAMES = ("orders", "visits", "events", "tickets")
SECONDS, WRITERS = 60, 8


@dataclass
class Naive:
    """What a tool would have that reads `> max(seen)`: the same rows, read at the same moments."""

    table: str
    column: str
    largest: Any = None
    keys: set[Any] = field(default_factory=set)

    def look(self, world: World) -> None:
        """One of its syncs."""
        above = f" WHERE {self.column} > {self.seen}" if self.seen is not None else ""
        for (value,) in world.rows(f"SELECT {self.column} FROM {self.table}{above}"):
            self.keys.add(value)
            self.largest = value if self.largest is None else max(self.largest, value)

    @property
    def seen(self) -> str | None:
        """As a literal."""
        return None if self.largest is None else f"'{self.largest}'"

    def lost(self, world: World) -> int:
        """Rows of the source that it has never seen."""
        return sum(value not in self.keys for (value,) in world.rows(f"SELECT {self.column} FROM {self.table}"))


def write(world: World, seed: int, until: float) -> None:
    """Short transactions, one in twenty of them slow, one in twenty aborted; PostgreSQL stamps their rows with their begin, others with that of the statement."""
    chance = random.Random(seed)
    with held(world.session()) as session:
        while time.monotonic() < until:
            order = chance.randrange(seed, 2000, WRITERS) or WRITERS
            session.run(
                f"INSERT INTO visits (who) VALUES ('writer {seed}')",
                f"UPDATE orders SET version = version + 1, updated_at = {world.words.now} WHERE id = {order}",
                f"INSERT INTO events (what) VALUES ('writer {seed}')",
                f"INSERT INTO tickets (what) VALUES ('writer {seed}')",
            )
            fate = chance.random()
            # The transaction's own pace, not a wait for anything.
            time.sleep(chance.uniform(1, 4) if fate < 0.05 else chance.uniform(0.01, 0.1))
            session.rollback() if 0.05 <= fate < 0.1 else session.commit()


@scenario(
    "T1",
    f"{WRITERS} writers for {SECONDS} seconds, one transaction in twenty slow and one in twenty aborted, by stamps and by sequences, with a sync running throughout",
    holds="when they stop, one more sync: every table equals the source, append targets hold each row once",
    bugs=("airbyte #9668",),
    long=True,
)
def test_nothing_is_lost_under_load(
    world: World, open_world: OpenWorld, record_property: Callable[[str, object], None]
) -> None:
    if world.title == "SQLite":
        world.spares("a file has one writer: no transaction commits beside another one")
    desk = open_world(TABLES, *make(world))
    desk.land()
    naive = [Naive("visits", "at"), Naive("events", "id")]
    until = time.monotonic() + SECONDS
    writers = [threading.Thread(target=write, args=(world, seed, until)) for seed in range(1, WRITERS + 1)]
    for writer in writers:
        writer.start()
    syncs = 0
    while any(writer.is_alive() for writer in writers):
        for other in naive:
            other.look(world)
        desk.land()
        syncs += 1
    for writer in writers:
        writer.join()
    desk.land()
    for other in naive:
        other.look(world)
    lost = {other.table: other.lost(world) for other in naive}

    for name in NAMES:
        desk.assert_equal(name)
        desk.assert_tidy(name)
    assert {report.guarantee for report in desk.told.reports} == {"settled"}
    late = {name: sum(each.rows.late for each in desk.told.reports if each.table.name == name) for name in NAMES}
    rows = len(desk.source("SELECT id FROM events"))
    assert lost["visits"], "no transaction committed late: the load was too tame to prove anything"
    assert lost["events"], "no number committed late: the load was too tame to prove anything"
    record_property(
        "measured",
        f"{syncs} syncs, {rows:,} rows in each of the three tables that grow, late rows {late}; "
        f"`> max(seen)` at the same moments lost {lost['visits']:,} visits and {lost['events']:,} events",
    )
