"""T77: transactions of any length and kind in a binlog, and how a load and the log beside it become one copy."""

from __future__ import annotations

import random
from contextlib import closing

from incremental_assets.core.planning.plan import Mode
from tests.adapters.logs.binlogged import BinlogShop, OpenBinlog
from tests.conformance.accounts import ACCOUNTS, TRANSFERS, Ledger
from tests.conformance.log_words import BINLOG
from tests.conformance.scenario import of_binlog
from tests.conformance.test_log_server import assert_stopped

WRITERS, MOMENTS = 8, 50


@of_binlog(
    "T77",
    "Four transactions write first and commit last, in another order than they began, while syncs run between and other rows come; one of them is rolled back",
    holds="each sync lands what has been committed and nothing else; a late commit lands with the next sync, over what was older",
)
def test_transactions_that_stay_open_over_several_syncs(open_binlog: OpenBinlog) -> None:
    shop = open_binlog()
    shop.execute(f"INSERT INTO orders SELECT n, 'old', 0, NULL FROM {BINLOG.many(10)}")
    late = [shop.writing() for _ in range(4)]
    shop.land()
    late[0].cursor().execute("UPDATE orders SET status = 'late' WHERE id = 1")
    for number, session in enumerate(late):
        session.cursor().execute(f"INSERT INTO orders VALUES ({100 + number}, 'late', 0, NULL)")
        shop.execute(f"INSERT INTO orders VALUES ({200 + number}, 'new', 0, NULL)")
        shop.land()
        shop.assert_equal()
    for number in (2, 0, 3):
        late[number].commit()
        shop.execute(f"UPDATE orders SET status = 'after {number}' WHERE id = {100 + number}")
        shop.land()
        shop.assert_equal()
    late[1].rollback()
    shop.land()
    shop.assert_equal()
    for session in late:
        session.close()


@of_binlog(
    "T77",
    "A transaction of 60,000 rows with savepoints, half of them rolled back, over several files of the log; updates of all its rows, and a delete of half of them, each in one transaction",
    holds="nothing of what was undone lands, every row is there once, and both sides are equal after each",
)
def test_large_transactions(open_binlog: OpenBinlog) -> None:
    shop = open_binlog()
    shop.land()
    ((size,),) = shop.stand.shop.rows("SELECT @@global.max_binlog_size")
    shop.execute("SET GLOBAL max_binlog_size = 1048576")
    try:
        with closing(shop.writing()) as session, session.cursor() as cursor:
            for part in range(20):
                cursor.execute("SAVEPOINT part")
                cursor.execute(
                    f"INSERT INTO orders SELECT n + {part * 10000}, 'part {part}', n, repeat('x', 100) FROM {BINLOG.many(6000)}"
                )
                cursor.execute("SAVEPOINT deeper")
                cursor.execute(f"UPDATE orders SET status = 'undone' WHERE id < {part}")
                cursor.execute("ROLLBACK TO deeper" if part % 3 else "RELEASE SAVEPOINT deeper")
                if part % 2:
                    cursor.execute("ROLLBACK TO part")
            session.commit()
        shop.execute("INSERT INTO orders VALUES (-1, 'beside', 0, NULL)")
        shop.land()
        assert len(shop.stand.copy("orders")) == 60_001
        shop.assert_equal()
        for statement in ("UPDATE orders SET total = total + 1", "DELETE FROM orders WHERE id % 2 = 0"):
            shop.execute(statement)
            shop.land()
            shop.assert_equal()
    finally:
        shop.execute(f"SET GLOBAL max_binlog_size = {size}")


@of_binlog(
    "T77",
    "XA transactions: one that commits in one phase; one that is prepared, loaded beside, and then committed; one that is prepared and rolled back, which has written to another table",
    holds="what commits in one phase lands; a prepared one stops the tables that it wrote, and its commit all tables, by a sentence that names it; after loads both sides are equal",
)
def test_prepared_transactions(open_binlog: OpenBinlog) -> None:
    shop = open_binlog(BINLOG.orders, "items (id int PRIMARY KEY, n int)")
    names = ("orders", "items")
    shop.execute(
        f"INSERT INTO orders SELECT n, 'new', n, NULL FROM {BINLOG.many(5)}", "INSERT INTO items VALUES (1, 0)"
    )
    shop.stand.land(*names)
    told = "a transaction was committed that had been prepared before"

    def prepared(name: str, statement: str, end: str) -> None:
        with closing(shop.stand.shop.open()) as connection, connection.cursor() as cursor:
            for each in (f"XA START '{name}'", statement, f"XA END '{name}'", end):
                cursor.execute(each)

    prepared("one", "UPDATE orders SET status = 'one' WHERE id = 1", "XA COMMIT 'one' ONE PHASE")
    shop.stand.land(*names)
    shop.assert_equal(*names)
    prepared("two", "UPDATE orders SET status = 'two' WHERE id = 2", "XA PREPARE 'two'")
    assert_stopped(shop, told, "orders")
    shop.land("items")
    shop.land(mode=Mode.FULL_REFRESH)
    shop.assert_equal(*names)
    shop.execute("XA COMMIT 'two'")
    assert_stopped(shop, told, *names)
    for name in names:
        shop.land(name, mode=Mode.FULL_REFRESH)
    shop.assert_equal(*names)
    prepared("three", "UPDATE items SET n = 3", "XA PREPARE 'three'")
    shop.execute("XA ROLLBACK 'three'")
    assert_stopped(shop, told, "items")
    shop.land("items", mode=Mode.FULL_REFRESH)
    shop.execute("UPDATE orders SET status = 'on'", "UPDATE items SET n = 4")
    shop.stand.land(*names)
    shop.assert_equal(*names)


@of_binlog(
    "T77",
    f"{WRITERS} writers move money between accounts, in part in transactions that stay open for a while, and count what each has done in the same transaction; "
    f"at {MOMENTS} random moments the tables are loaded anew under a snapshot, or synced",
    holds="after each sync the copy is the table at one place of the log, which is not older than the sync: no money is made or lost, each writer's count is that of its rows, "
    "and what was committed before is there; in the end both sides are equal. A load of MySQL that finds no moment without a statement which waits for another says so, and lands when it is tried again",
)
def test_the_join_of_a_load_and_the_log_under_writers(open_binlog: OpenBinlog) -> None:
    shop, chance = open_binlog(BINLOG.orders, ACCOUNTS, TRANSFERS), random.Random(7)
    with Ledger.written_by(shop, WRITERS) as ledger:
        for moment in range(MOMENTS):
            name = ("accounts", "transfers")[moment % 2]
            is_load = moment < 2 or chance.random() < 0.5
            done = ledger.done()
            land_at_last(shop, name, Mode.FULL_REFRESH if is_load else Mode.SYNC)
            ledger.assert_consistent(name, done)
    shop.stand.land("accounts", "transfers")
    shop.assert_equal("accounts", "transfers")
    assert ledger.done() > MOMENTS


def land_at_last(shop: BinlogShop, name: str, mode: Mode) -> None:
    """MySQL holds commits up while a load begins, and does so for five seconds at the most."""
    while (error := shop.stand.sync(name, mode=mode)[name].error) is not None:
        assert "a load joins the binlog while no commit is under way" in str(error)
