"""T79: another server takes the place of the one whose binlog was read: by the numbers of its transactions it is gone on with, or it is named why not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from incremental_assets.core.maintenance.reset import accept_source
from incremental_assets.core.planning.plan import Mode
from incremental_assets.demo.mariadb import EmbeddedMariaDB
from incremental_assets.demo.mysql import EmbeddedMySQL
from tests.adapters.logs.binlogged import BinlogShop, OpenBinlog
from tests.conformance.binlog_servers import (
    ask_another,
    begin_a_file,
    caught_up,
    promote,
    purge,
    replica_of,
    stop_following,
    without_log,
)
from tests.conformance.log_words import BINLOG
from tests.conformance.scenario import of_binlog
from tests.conformance.test_binlog_server import landed
from tests.conformance.test_log_server import ITEMS, assert_loaded_again, assert_stopped, change

LACKS = {
    "it lacks something": "whose log lacks transactions that were read",
    "it has purged": "purged",
    "it has not logged": "lacks transactions",
}
"""By what is missing. MySQL says itself which transactions its log has no more: of it one sentence tells all."""
BY_MYSQL = "whose log lacks transactions that were read, or some that came after"
ELSEWHERE = "another database answers than the one synced so far"


@contextmanager
def taken_over(shop: BinlogShop, primary: EmbeddedMariaDB, replica: EmbeddedMariaDB) -> Iterator[None]:
    """What is done in the block reaches the replica, which then takes over."""
    yield
    caught_up(replica, primary)
    promote(replica)
    ask_another(shop, replica)


def accepted(shop: BinlogShop, *names: str) -> None:
    with shop.stand.runtime() as runtime:
        for name in names:
            accept_source(spec=shop.stand.spec(name), run_id="accepts", checkpoints=runtime.checkpoints)


@of_binlog(
    "T79",
    "A replica takes over that has all that was read: its files are others, in them are transactions that were read, ALTER TABLE and TRUNCATE among them, and such that were not; one table had landed "
    "less than was read; rows change before and after",
    holds="each table stops until it is accepted, and then lands what came since, each change once; a table that waits for that stops; every copy is the table after each sync",
)
def test_a_replica_that_has_everything_takes_over(
    open_binlog: OpenBinlog, own_binlog: EmbeddedMariaDB, tmp_path: Path
) -> None:
    with replica_of(own_binlog, tmp_path / "replica") as replica:
        shop = open_binlog(BINLOG.orders, ITEMS, server=own_binlog)
        landed(shop)
        caught_up(replica, own_binlog)
        begin_a_file(replica)
        shop.execute("ALTER TABLE items ADD COLUMN later int", "ALTER TABLE items DROP COLUMN later", "TRUNCATE orders")
        shop.land("items", mode=Mode.FULL_REFRESH)
        shop.execute(f"INSERT INTO orders SELECT n, 'new', n, NULL FROM {BINLOG.many(9)}")
        shop.land("orders")
        change(shop)
        shop.land("items")
        with taken_over(shop, own_binlog, replica):
            change(shop)
        change(shop)
        assert_stopped(shop, ELSEWHERE)
        for name in ("orders", "items"):
            accepted(shop, name)
            shop.land(name)
            shop.assert_equal(name)
            if name == "orders":
                assert_stopped(shop, ELSEWHERE, "items")
        for _ in range(2):
            change(shop)
            begin_a_file(replica)
            change(shop)
            shop.stand.land("orders", "items")
            shop.assert_equal("orders", "items")
        assert shop.stand.check("orders") == shop.stand.check("items") == 0


@of_binlog(
    "T79",
    "A replica takes over where every change is a row of its own, and where versions are kept; the table had landed less than was read",
    holds="each change is there once, in its order, and each version; the history is what the copy became",
)
@pytest.mark.parametrize("more", ["strategy: append", "history: scd2"])
def test_a_replica_takes_over_and_no_change_is_missing(
    open_binlog: OpenBinlog, own_binlog: EmbeddedMariaDB, tmp_path: Path, more: str
) -> None:
    with replica_of(own_binlog, tmp_path / "replica") as replica:
        shop = open_binlog(BINLOG.orders, ITEMS, server=own_binlog, more=more)
        landed(shop)
        change(shop)
        shop.land("items")
        with taken_over(shop, own_binlog, replica):
            shop.execute("UPDATE orders SET status = 'second' WHERE id = 5")
        shop.execute("UPDATE orders SET status = 'third' WHERE id = 5", "DELETE FROM orders WHERE id = 6")
        accepted(shop, "orders")
        shop.land()
        if more == "strategy: append":
            shop.assert_replayed()
        else:
            shop.assert_equal()
            versions = shop.stand.copy("orders__history", "id", "status", "_sync_deleted")
            assert [row[1:] for row in versions if row[0] == 5] == [
                ("new", False),
                ("new", False),
                ("second", False),
                ("third", False),
            ]
            assert [row[2] for row in versions if row[0] == 6] == [False, False, True]


@of_binlog(
    "T79",
    "A replica takes over that lacks what was read; one that has purged what was not; one that had not logged for a while what it got; one of which a table is loaded before the others are accepted",
    holds="by the first three each table stops, accepted too, with a sentence that says what is missing, and a load goes on from there; by the last the others go on, and every copy is its table",
)
@pytest.mark.parametrize("how", ["it lacks something", "it has purged", "it has not logged", "one is loaded"])
def test_a_replica_takes_over_and_something_is_missing(
    open_binlog: OpenBinlog, own_binlog: EmbeddedMariaDB, tmp_path: Path, how: str
) -> None:
    with replica_of(own_binlog, tmp_path / "replica") as made:
        replica, shop = made, landed(open_binlog(BINLOG.orders, ITEMS, server=own_binlog))
        caught_up(replica, own_binlog)
        if how == "it lacks something":
            stop_following(replica)
            change(shop)
            shop.stand.land("orders", "items")
            promote(replica)
            ask_another(shop, replica)
        else:
            if how == "it has not logged":
                replica = without_log(replica, own_binlog, lambda: change(shop))
            with taken_over(shop, own_binlog, replica):
                change(shop)
            if how == "it has purged":
                purge(replica)
        change(shop)
        assert_stopped(shop, ELSEWHERE)
        if how == "one is loaded":
            shop.land("orders", mode=Mode.FULL_REFRESH)
            shop.assert_equal("orders")
            assert_stopped(shop, ELSEWHERE, "items")
            accepted(shop, "items")
            shop.land("items")
            shop.assert_equal("items")
            return
        accepted(shop, "orders", "items")
        assert_stopped(shop, BY_MYSQL if isinstance(replica, EmbeddedMySQL) else LACKS[how])
        assert_loaded_again(shop)
