"""T1: tables that are followed by the transaction that wrote each row."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import psycopg

from incremental_assets.demo.home import Home
from incremental_assets.demo.postgres import EmbeddedPostgres
from incremental_assets.demo.state import ServerState
from tests.conformance.conftest import OpenStand
from tests.conformance.scenario import scenario
from tests.conformance.stand import Stand
from tests.shop import Shop

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BY_XMIN = "- {table: public.orders, cursor: {type: xmin}, strategy: upsert, deletes: {mode: diff, every: 0s}}"
ORDERS = "CREATE TABLE orders (id int PRIMARY KEY, note text)"
CIRCLE = 2**32
PER_SEGMENT = 2**20
"""Transactions whose ends one file of the log of transactions holds."""


def _assert_equal(desk: Stand) -> None:
    """Not by the number itself: of an old row it is another one once the circle is passed."""
    assert desk.copy("orders", "id", "note") == desk.source("SELECT id, note FROM orders")
    assert desk.check("orders") == 0


@scenario(
    "T1",
    "Rows without a stamp are followed by `xmin`: a transaction stays open over two syncs, others are nested, prepared or rolled back, rows are updated by "
    "an older transaction, deleted, locked and frozen",
    holds="every run is settled, lands what was committed and reports what came late; both sides are equal after each, and a sync of nothing reads nothing",
)
def test_rows_by_their_transactions(stand: OpenStand) -> None:
    desk = stand(BY_XMIN, ORDERS, "INSERT INTO orders SELECT n, 'first' FROM generate_series(1, 500) n")
    slow, nested, prepared, never = (desk.shop.connect() for _ in range(4))
    slow.execute("INSERT INTO orders VALUES (1000, 'late')")
    for number in range(5):
        nested.execute("SAVEPOINT here")
        nested.execute("INSERT INTO orders VALUES (%s, 'nested')", [2000 + number])
    prepared.execute("INSERT INTO orders VALUES (3000, 'prepared')")
    prepared.execute("PREPARE TRANSACTION 'moving house'")
    never.execute("UPDATE orders SET note = 'never' WHERE id < 100")
    first = desk.land()["orders"]
    assert (first.rows.inserted, first.guarantee) == (500, "settled")

    never.rollback()
    nested.commit()
    desk.execute("UPDATE orders SET note = 'changed' WHERE id = 1", "DELETE FROM orders WHERE id = 2")
    second = desk.land()["orders"]  # and what says that a row is gone
    assert (second.rows.read, second.rows.inserted, second.rows.updated, second.guarantee) == (7, 5, 1, "settled")
    _assert_equal(desk)

    slow.execute("UPDATE orders SET note = 'by the older' WHERE id = 1")
    slow.commit()
    third = desk.land()["orders"]
    assert (third.rows.inserted, third.rows.updated, third.rows.late) == (1, 1, 2)
    _assert_equal(desk)

    prepared.autocommit = True
    prepared.execute("COMMIT PREPARED 'moving house'")
    prepared.execute("VACUUM (FREEZE) orders")
    prepared.execute("DO $$ BEGIN PERFORM FROM orders FOR UPDATE; END $$")
    fourth = desk.land()["orders"]
    assert (fourth.rows.inserted, fourth.rows.updated) == (1, 0)
    _assert_equal(desk)
    for each in (slow, nested, prepared, never):
        each.close()
    assert desk.land()["orders"].rows.read == 0
    desk.assert_tidy("orders")


class _Counting:
    """A server whose next transaction is set by hand, with everything frozen before, as autovacuum does on the way."""

    def __init__(self, server: EmbeddedPostgres) -> None:
        self.server = server
        state = ServerState.read(server.folder / "server.json")
        assert state is not None
        self._home = Home(server.folder / state.home)

    def freeze(self) -> None:
        with psycopg.connect(self.server.dsn(), autocommit=True) as admin:
            admin.execute("UPDATE pg_database SET datallowconn = true")
            names = [name for (name,) in admin.execute("SELECT datname FROM pg_database").fetchall()]
        for name in names:
            with psycopg.connect(self.server.dsn(name), autocommit=True) as each:
                each.execute("VACUUM (FREEZE)")

    def next_is(self, number: int) -> None:
        self.freeze()
        self.server.stop()
        segment = self._home.data / "pg_xact" / f"{number // PER_SEGMENT:04X}"
        if not segment.exists():
            segment.write_bytes(bytes(PER_SEGMENT // 4))
            self._home.give(segment)
        done = self._home.run("pg_resetwal", "-x", str(number), self._home.data)
        assert done.returncode == 0, done.stderr
        self.server.start()


@scenario(
    "T1",
    "The source comes to its 2^32nd transaction and passes it while a transaction is open, rows are frozen, and a table is followed by `xmin`",
    holds="no change is lost, the watermark passes 2^32, rows whose 32 bits come round again are read again and change nothing, and both sides are equal",
    long=True,
)
def test_the_numbers_of_transactions_come_round(tmp_path: Path, spark: SparkSession) -> None:
    server = EmbeddedPostgres(tmp_path / "server").start()
    try:
        server.create_database("shop")
        counting = _Counting(server)
        desk = Stand(Shop.open(server, "shop", tmp_path, BY_XMIN, options="unlisted: ignore\n"), spark)
        desk.execute(ORDERS, "INSERT INTO orders SELECT n, 'first' FROM generate_series(1, 500) n")
        assert desk.land()["orders"].rows.inserted == 500
        for number in (1_500_000_000, 3_000_000_000, CIRCLE - 20):
            counting.next_is(number)
            desk.execute(f"UPDATE orders SET note = 'at {number}' WHERE id = 1")
            found = desk.land()["orders"]
            assert (found.rows.updated, found.guarantee) == (1, "settled")
            _assert_equal(desk)
        slow = desk.shop.connect()
        slow.execute("INSERT INTO orders VALUES (1000, 'late')")
        for number in range(40):
            desk.execute(f"UPDATE orders SET note = 'passing' WHERE id = {number + 2}")
        over = desk.land()["orders"]
        assert (over.rows.updated, over.guarantee) == (40, "settled")
        assert over.new_watermark is not None
        assert int(over.new_watermark.text) < CIRCLE
        slow.commit()
        slow.close()
        after = desk.land()["orders"]
        assert (after.rows.inserted, after.rows.late) == (1, 1)
        assert after.new_watermark is not None
        assert int(after.new_watermark.text) > CIRCLE
        _assert_equal(desk)
        # The first rows were written by a transaction of some hundred: now their 32 bits come round.
        ((bits,),) = desk.source("SELECT max(xmin::text::bigint) FROM orders WHERE note = 'first'")
        counting.next_is(bits + 5)
        again = desk.land()["orders"]
        assert (again.rows.inserted, again.rows.read >= 400) == (0, True)
        _assert_equal(desk)
        desk.execute("UPDATE orders SET note = 'last' WHERE id = 500")
        assert desk.land()["orders"].rows.updated == 1
        _assert_equal(desk)
        desk.assert_tidy("orders")
    finally:
        server.remove()
