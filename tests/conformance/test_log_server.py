"""T73: slot, publication and server under tables that are read from the log: what is lost is named, and nothing is passed over in silence."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from incremental_assets.core.planning.plan import Mode
from incremental_assets.demo.postgres import EmbeddedPostgres
from tests.adapters.logs.log_shop import LogShop
from tests.adapters.logs.opening import SETTINGS
from tests.adapters.logs.shelved import ORDERS, LoggedShop, Open
from tests.conformance.backed import Backed
from tests.conformance.scenario import of_log

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ITEMS = "items (id int PRIMARY KEY)"
TO_NINE = "generate_series(1, 9) AS n"


def landed(shop: LoggedShop) -> LoggedShop:
    shop.execute(
        f"INSERT INTO orders SELECT n, 'new', n, NULL FROM {TO_NINE}",
        f"INSERT INTO items SELECT n FROM {TO_NINE}",
    )
    shop.stand.land("orders", "items")
    return shop


def change(shop: LogShop[Any]) -> None:
    shop.execute(
        "DELETE FROM orders WHERE id = (SELECT id FROM (SELECT min(id) AS id FROM orders) AS first)",
        "UPDATE orders SET total = total + 1",
        "INSERT INTO items SELECT max(id) + 1 FROM items",
    )


def assert_stopped(shop: LogShop[Any], words: str, *names: str) -> None:
    """Each says so, twice, and no copy has moved."""
    names = names or ("orders", "items")
    copies = [shop.stand.copy(name) for name in names]
    for _ in range(2):
        for name in names:
            assert words in shop.refused(name)
    assert [shop.stand.copy(name) for name in names] == copies


def assert_loaded_again(shop: LogShop[Any], *names: str) -> None:
    for name in names or ("orders", "items"):
        shop.land(name, mode=Mode.FULL_REFRESH)
        shop.assert_equal(name)
    change(shop)
    shop.stand.land("orders", "items")
    shop.assert_equal("orders", "items")


def drop(shop: LoggedShop) -> None:
    shop.execute(f"SELECT pg_drop_replication_slot('{shop.slot}')")
    change(shop)


def recreate(shop: LoggedShop) -> None:
    drop(shop)
    make_slot(shop)
    change(shop)


def advance(shop: LoggedShop) -> None:
    change(shop)
    shop.execute(f"SELECT pg_replication_slot_advance('{shop.slot}', pg_current_wal_flush_lsn())")
    change(shop)


def consume(shop: LoggedShop) -> None:
    """By a program that reads it for itself."""
    change(shop)
    shop.execute(
        f"SELECT count(*) FROM pg_logical_slot_get_binary_changes('{shop.slot}', NULL, NULL, 'proto_version', '1', 'publication_names', 'shop')"
    )
    change(shop)


def make_slot(shop: LoggedShop) -> None:
    shop.execute(f"SELECT pg_create_logical_replication_slot('{shop.slot}', 'pgoutput')")


def nothing(_: LoggedShop) -> None:
    """It is there."""


Played = Callable[[LoggedShop], None]
LOSSES: dict[str, tuple[Played, str, Played]] = {
    "dropped": (drop, "there is no replication slot", make_slot),
    "recreated": (recreate, "another program reads it", nothing),
    "advanced": (advance, "another program reads it", nothing),
    "consumed": (consume, "another program reads it", nothing),
}


@of_log(
    "T73",
    "The slot is dropped; dropped and made anew; advanced by somebody; read by another program; rows change before and after",
    holds="each table stops with a sentence that names the slot and the cure, as often as it is asked; a load goes on from there, and both sides are equal",
)
@pytest.mark.parametrize("loss", LOSSES)
def test_a_slot_that_has_lost_something(open_shop: Open, loss: str) -> None:
    lose, words, mend = LOSSES[loss]
    shop = landed(open_shop(ORDERS, ITEMS))
    lose(shop)
    assert_stopped(shop, words)
    mend(shop)
    assert_loaded_again(shop)


@of_log(
    "T73",
    "A table is taken out of the publication for a while, the publication is dropped and made anew, rows change meanwhile; another table is in it all the time",
    holds="a table that has missed something stops with a sentence, then and when it is there again, until it is loaded; the other one goes on",
)
@pytest.mark.parametrize("whole", [False, True], ids=["table", "publication"])
def test_a_publication_that_was_without_the_table_for_a_while(open_shop: Open, *, whole: bool) -> None:
    shop = landed(open_shop(ORDERS, ITEMS))
    for is_seen in (False, True):
        shop.execute("DROP PUBLICATION shop" if whole else "ALTER PUBLICATION shop DROP TABLE orders")
        change(shop)
        if is_seen:
            shop.refused("orders")
        shop.execute(
            "CREATE PUBLICATION shop FOR TABLE orders, items" if whole else "ALTER PUBLICATION shop ADD TABLE orders"
        )
        change(shop)
        affected = ("orders", "items") if whole else ("orders",)
        for name in {"orders", "items"} - {*affected}:
            shop.land(name)
            shop.assert_equal(name)
        assert_stopped(shop, "--full-refresh", *affected)
        if whole:
            # The slot was made before the publication, and knows none.
            drop(shop)
            make_slot(shop)
        assert_loaded_again(shop, *affected)


@pytest.fixture
def backed(tmp_path: Path) -> Iterator[Backed]:
    made = Backed(EmbeddedPostgres(tmp_path / "server", settings=SETTINGS))
    made.server.create_database("shop")
    yield made
    subprocess.run(["rm", "-rf", str(made._backup)], check=True)
    made.server.remove()


@pytest.fixture
def own_shop(backed: Backed, tmp_path: Path, spark: SparkSession) -> LoggedShop:
    return landed(LoggedShop.open(backed.server, "shop", tmp_path, spark, ORDERS, ITEMS))


def restored(backed: Backed, shop: LoggedShop) -> None:
    backed.back_up()
    change(shop)
    shop.stand.land("orders", "items")
    backed.restore()


def failed_over(backed: Backed, shop: LoggedShop) -> None:
    backed.back_up()
    change(shop)
    shop.stand.land("orders", "items")
    backed.fail_over_to_a_lagging_replica()


def stands_by(backed: Backed, _: LoggedShop) -> None:
    backed.stand_by()


def upgraded(backed: Backed, shop: LoggedShop) -> None:
    shop.execute(f"SELECT pg_drop_replication_slot('{shop.slot}')")
    backed.upgrade()
    make_slot(shop)


OTHERS: dict[str, tuple[Callable[[Backed, LoggedShop], None], str]] = {
    "restored": (restored, "restored"),
    "failed over": (failed_over, "restored from an older copy"),
    "standby": (stands_by, "a standby answers, whose slots are its own; name the primary as `host`"),
    "upgraded": (upgraded, "another database answers than the one synced so far"),
}


@of_log(
    "T73",
    "The source is put back to an older backup; a standby takes over that lacks what has landed; a standby answers; the server is upgraded by pg_upgrade",
    holds="each table stops with a sentence that says which it is, and its copy stays as it is",
)
@pytest.mark.parametrize("other", OTHERS)
def test_another_server_answers(backed: Backed, own_shop: LoggedShop, other: str) -> None:
    exchange, words = OTHERS[other]
    exchange(backed, own_shop)
    assert_stopped(own_shop, words)


@of_log(
    "T73",
    "The source is put back to an older backup after sixty transactions that had landed, and one of two tables for the first time; a slot is made anew, and rows are written by fewer transactions that are larger, so that places come again before numbers do",
    holds="each table stops until it is loaded, also once the log has grown beyond what was read; that load joins the log at once, and every sync after it lands what has changed: both sides are equal",
)
def test_a_restored_source_is_loaded_again(backed: Backed, tmp_path: Path, spark: SparkSession) -> None:
    shop = LoggedShop.open(backed.server, "shop", tmp_path, spark, ORDERS, ITEMS)
    shop.execute(
        f"INSERT INTO orders SELECT n, 'new', n, NULL FROM {TO_NINE}",
        "INSERT INTO items SELECT n FROM generate_series(1, 100) AS n",
    )
    shop.land()
    backed.back_up()
    for _ in range(19):
        change(shop)
        shop.land()
    change(shop)
    shop.stand.land("orders", "items")
    backed.restore()
    assert_stopped(shop, "restored")
    drop(shop)
    make_slot(shop)
    for _ in range(3):
        shop.execute("UPDATE orders SET note = repeat(md5(random()::text), 20000)")
    assert_stopped(shop, "restored")
    assert_loaded_again(shop)


@of_log(
    "T73",
    "The server may keep 16 MB of its log for a slot, and 200 MB are written while no sync runs: it gives the slot up",
    holds="each table stops with a sentence that names the slot and says how to go on; a new slot and a load do, and both sides are equal",
)
def test_a_slot_that_the_server_has_given_up(backed: Backed, own_shop: LoggedShop) -> None:
    own_shop.outside("ALTER SYSTEM SET max_slot_wal_keep_size = '16MB'")
    own_shop.outside("SELECT pg_reload_conf()")
    change(own_shop)
    own_shop.execute("CREATE TABLE other (t text)")
    for _ in range(4):
        own_shop.execute(
            "INSERT INTO other SELECT repeat('x', 1000) FROM generate_series(1, 50000)", "SELECT pg_switch_wal()"
        )
        own_shop.outside("CHECKPOINT")
    assert_stopped(own_shop, f"the server has given up the replication slot {own_shop.slot}")
    own_shop.execute(f"SELECT pg_drop_replication_slot('{own_shop.slot}')")
    make_slot(own_shop)
    assert_loaded_again(own_shop)
