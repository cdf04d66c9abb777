"""T79: binlog and server under tables that are read from them: what is lost is named, and nothing is passed over in silence."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from incremental_assets.demo.mariadb import EmbeddedMariaDB
from tests.adapters.logs.binlogged import BinlogShop, OpenBinlog
from tests.conformance.binlog_servers import (
    ask_another,
    back_up,
    caught_up,
    replica_of,
    restore,
)
from tests.conformance.log_words import BINLOG
from tests.conformance.scenario import of_binlog
from tests.conformance.test_log_server import ITEMS, assert_loaded_again, assert_stopped, change


def landed(shop: BinlogShop) -> BinlogShop:
    shop.execute(
        f"INSERT INTO orders SELECT n, 'new', n, NULL FROM {BINLOG.many(9)}",
        f"INSERT INTO items SELECT n FROM {BINLOG.many(9)}",
    )
    shop.stand.land("orders", "items")
    return shop


def purge(shop: BinlogShop) -> None:
    shop.execute("FLUSH BINARY LOGS")
    change(shop)
    purge_read(shop)


def purge_read(shop: BinlogShop) -> None:
    """All files but the last."""
    last = shop.stand.shop.rows("SHOW BINARY LOGS")[-1][0]
    while shop.stand.shop.rows("SHOW BINARY LOGS")[0][0] != last:
        # A file that may still be needed after a crash stays for a moment.
        shop.execute(f"PURGE BINARY LOGS TO '{last}'")


def reset(shop: BinlogShop) -> None:
    change(shop)
    shop.execute("RESET MASTER")
    change(shop)


def reset_and_outgrown(shop: BinlogShop) -> None:
    """The log of after is longer than the one that was read."""
    reset(shop)
    end = shop.at().lsn or 0
    while sum(int(size) for _, size, *_ in shop.stand.shop.rows("SHOW BINARY LOGS")) <= end % (1 << 32):
        shop.execute(f"UPDATE orders SET note = concat('{'x' * 10_000}', total), total = total + 1")


def by_statements(shop: BinlogShop) -> None:
    # By statements InnoDB writes under this isolation alone.
    isolated = "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ"
    shop.together(isolated, "SET SESSION binlog_format = STATEMENT", "UPDATE orders SET total = 0")


def without_columns(image: str) -> Callable[[BinlogShop], None]:
    def write(shop: BinlogShop) -> None:
        shop.together(f"SET SESSION binlog_row_image = {image}", "UPDATE orders SET total = total + 5")

    return write


LOSSES: dict[str, tuple[Callable[[BinlogShop], None], str, tuple[str, ...]]] = {
    "the server purges its log from where it was read to on": (
        purge,
        "the server has purged its binlog",
        ("orders", "items"),
    ),
    "RESET MASTER": (reset, "the binlog does not have what was read of it any more", ("orders", "items")),
    "RESET MASTER, and the log grows beyond what was read": (reset_and_outgrown, "the binlog ", ("orders", "items")),
    "a session writes by statements": (
        by_statements,
        "a session has written to the log by statements",
        ("orders", "items"),
    ),
    "one writes rows by `binlog_row_image = MINIMAL`": (
        without_columns("MINIMAL"),
        "without all of their columns",
        ("orders",),
    ),
    "one by NOBLOB": (without_columns("NOBLOB"), "without all of their columns", ("orders",)),
}


@of_binlog(
    "T79",
    f"What the log does not tell any more, or never did: {'; '.join(LOSSES)}",
    holds="each table that it is about stops with a sentence that names it and the cure, as often as it is asked, and the others go on; a load goes on from there, and both sides are equal",
)
@pytest.mark.parametrize("loss", LOSSES)
def test_a_log_that_has_lost_something(open_binlog: OpenBinlog, loss: str) -> None:
    lose, words, affected = LOSSES[loss]
    shop = landed(open_binlog(BINLOG.orders, ITEMS))
    if "NOBLOB" in loss:
        # Of a row that has none it is the whole row.
        shop.execute("UPDATE orders SET note = 'a text'")
        shop.land()
    lose(shop)
    assert_stopped(shop, words, *affected)
    for name in {"orders", "items"} - {*affected}:
        shop.land(name)
        shop.assert_equal(name)
    assert_loaded_again(shop, *affected)


@of_binlog(
    "T79",
    "A session writes with `sql_log_bin = 0`: no log has that, and nothing shows it",
    holds="the sync lands what the log has; `check` finds each of the rows, a repair puts them right, and the next sync goes on: both sides are equal",
)
def test_rows_that_are_in_no_log(open_binlog: OpenBinlog) -> None:
    shop = landed(open_binlog(BINLOG.orders, ITEMS))
    shop.together(
        "SET SESSION sql_log_bin = 0",
        "UPDATE orders SET status = 'hidden' WHERE id < 3",
        "DELETE FROM orders WHERE id = 9",
    )
    shop.execute("UPDATE orders SET status = 'told' WHERE id = 5")
    shop.land()
    assert shop.stand.check("orders") == 3
    shop.stand.repair("orders")
    shop.land()
    shop.assert_equal()


@of_binlog(
    "T79",
    "The log begins new files, by FLUSH, by their size, and by a server that is restarted, one of them while a transaction is open over it; old ones that have been read are purged",
    holds="every sync lands what has changed, and both sides are equal after each",
)
def test_files_that_follow_each_other(open_binlog: OpenBinlog) -> None:
    shop = landed(open_binlog(BINLOG.orders, ITEMS, "late (id int PRIMARY KEY)"))
    late = shop.writing()
    late.cursor().execute("INSERT INTO late VALUES (1)")
    shop.land("late")
    for _ in range(3):
        change(shop)
        shop.execute("FLUSH BINARY LOGS")
        change(shop)
        shop.stand.land("orders", "items")
        shop.assert_equal("orders", "items")
    late.commit()
    late.close()
    shop.land("late")
    shop.assert_equal("late")
    shop.stand.land("orders", "items")
    shop.execute("FLUSH BINARY LOGS")
    shop.stand.land("orders", "items")
    purge_read(shop)
    for _ in range(2):
        change(shop)
        shop.stand.shop.server.stop()
        shop.stand.shop.server.start()
        shop.follow_the_port()
        shop.stand.land("orders", "items")
        shop.assert_equal("orders", "items")


@of_binlog(
    "T79",
    "The source is put back to an older backup, and written to again",
    holds="each table stops with a sentence that says so, and its copy stays as it is; a load goes on from there",
)
def test_a_server_that_was_restored(open_binlog: OpenBinlog, own_binlog: EmbeddedMariaDB) -> None:
    shop = landed(open_binlog(BINLOG.orders, ITEMS, server=own_binlog))
    back_up(own_binlog)
    shop.follow_the_port()
    change(shop)
    shop.stand.land("orders", "items")
    restore(own_binlog)
    shop.follow_the_port()
    assert_stopped(shop, "restored")
    for _ in range(3):
        change(shop)
    assert_stopped(shop, "restored")
    assert_loaded_again(shop)


@of_binlog(
    "T79",
    "A replica answers that does not log what it gets; the source is read from a replica that does",
    holds="by the first each table stops with a sentence that names what it is; by the second every change lands",
)
@pytest.mark.parametrize("how", ["it logs nothing", "it logs all"])
def test_a_replica_answers(open_binlog: OpenBinlog, own_binlog: EmbeddedMariaDB, tmp_path: Path, how: str) -> None:
    with replica_of(own_binlog, tmp_path / "replica", logs="OFF" if how == "it logs nothing" else "ON") as replica:
        shop = open_binlog(BINLOG.orders, ITEMS, server=own_binlog)
        primary = shop.stand.shop
        shop.execute("INSERT INTO orders VALUES (3, 'new', 1, NULL)", "INSERT INTO items VALUES (3), (4)")
        caught_up(replica, own_binlog)
        ask_another(shop, replica)
        if how == "it logs nothing":
            for name in ("orders", "items"):
                assert "the server is a replica and does not log what it gets" in shop.refused(name)
        else:
            for _ in range(3):
                primary.execute("UPDATE orders SET total = total + 1", "DELETE FROM items WHERE id = 3")
                caught_up(replica, own_binlog)
                shop.stand.land("orders", "items")
                shop.assert_equal("orders", "items")
