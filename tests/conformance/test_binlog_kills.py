"""T78: a sync of tables that are read from a binlog ends anywhere, and so do the source and the disk; the next one makes it good."""

from __future__ import annotations

import subprocess

import pytest

from incremental_assets.core.planning.plan import Mode
from tests.adapters.logs.binlogged import ORDERS, BinlogShop, OpenBinlog
from tests.conformance.killing import killed_in
from tests.conformance.log_process import BINLOG_STEPS
from tests.conformance.log_words import BINLOG, CHANGE
from tests.conformance.points import Point
from tests.conformance.scenario import of_binlog
from tests.conformance.test_log_kills import ITEMS, OF_LOAD, assert_healed, syncs_at_once
from tests.disks import fill, small_disk

PLACES = (*BINLOG_STEPS, *map(str, Point))


def opened(open_binlog: OpenBinlog) -> BinlogShop:
    shop = open_binlog(ORDERS, ITEMS)
    shop.execute(
        f"INSERT INTO orders SELECT n, 'new', n, NULL FROM {BINLOG.many(10)}",
        "INSERT INTO items VALUES (1, 0)",
    )
    return shop


@of_binlog(
    "T78",
    f"kill -9 of the whole process at each step of a sync: {', '.join(BINLOG_STEPS)} of the log, and at the nine points of a landing",
    holds="one more sync: both tables equal the source, nothing is there twice, no file, lease or open sequence is left",
)
@pytest.mark.parametrize("step", PLACES)
def test_a_killed_sync_is_made_good_by_the_next(open_binlog: OpenBinlog, step: str) -> None:
    shop = opened(open_binlog)
    shop.stand.land("orders", "items")
    shop.execute(*CHANGE)
    killed_in("tests.conformance.log_process", shop.stand, step, "orders", Mode.SYNC)
    shop.execute(*CHANGE)
    assert_healed(shop)


@of_binlog(
    "T78",
    "kill -9 of the whole process at each of five points of a first load, changes before and after it",
    holds="the next sync loads the table, joined with the log, and the one after it goes on: both sides are equal",
)
@pytest.mark.parametrize("step", map(str, OF_LOAD))
def test_a_killed_load_is_made_good_by_the_next(open_binlog: OpenBinlog, step: str) -> None:
    shop = opened(open_binlog)
    killed_in("tests.conformance.log_process", shop.stand, step, "orders", Mode.SYNC)
    shop.execute(*CHANGE)
    assert_healed(shop)


@of_binlog(
    "T78",
    "The server is killed between two syncs, with changes that no sync has seen, while another transaction is open; twice",
    holds="the next sync lands every change once, and nothing of the transaction that was open",
)
def test_a_server_that_crashes(open_binlog: OpenBinlog) -> None:
    shop = opened(open_binlog)
    shop.stand.land("orders", "items")
    for _ in range(2):
        shop.execute(*CHANGE)
        undone = shop.writing()
        undone.cursor().execute("INSERT INTO orders VALUES (-5, 'undone', 1, NULL)")
        shop.stand.shop.crash()
        shop.follow_the_port()
        shop.stand.land("orders", "items")
        shop.assert_equal("orders", "items")
    assert_healed(shop)


@of_binlog(
    "T78",
    "Six syncs of the same two tables at once, five times over, while rows change",
    holds="each ends well or says that another one is at work, and both sides are equal after one more",
)
def test_syncs_at_once(open_binlog: OpenBinlog) -> None:
    syncs_at_once(opened(open_binlog))


@of_binlog(
    "T78",
    "The disk of the segments is full before a sync begins, and is too small for what the log has; then there is room again",
    holds="the runs name the folder, copies stay as they are and nothing is left over; with room every change lands, once",
)
def test_a_disk_that_is_full(open_binlog: OpenBinlog) -> None:
    shop = opened(open_binlog)
    folder = shop.shelf().folder
    with small_disk(folder, 8):
        shop.stand.land("orders", "items")
        before = shop.stand.copy("orders")
        shop.execute(*CHANGE)
        fill(folder / "full")
        assert str(folder) in shop.refused("orders")
        (folder / "full").unlink()
        noise = ", ".join(f"md5({part} * n + rand())" for part in range(40))
        shop.execute(f"INSERT INTO orders SELECT n + 20000, 'much', 1, concat({noise}) FROM {BINLOG.many(12000)}")
        for _ in range(2):
            assert str(folder) in shop.refused("orders")
        assert shop.stand.copy("orders") == before
        subprocess.run(["mount", "-o", "remount,size=500m", str(folder)], check=True)
        assert_healed(shop)
