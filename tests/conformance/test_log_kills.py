"""T72: a sync of tables that are read from the log ends anywhere, and so do the source and the disk; the next one makes it good."""

from __future__ import annotations

import subprocess
import threading
from typing import Any

import pytest

from incremental_assets.core.captures.log.lsn import lsn_of
from incremental_assets.core.planning.plan import Mode
from incremental_assets.core.planning.report import Status
from tests.adapters.logs.log_shop import LogShop
from tests.adapters.logs.shelved import ORDERS, LoggedShop, Open
from tests.conformance.killing import killed_in
from tests.conformance.log_process import STEPS
from tests.conformance.log_words import CHANGE
from tests.conformance.points import Point
from tests.conformance.scenario import of_log
from tests.disks import fill, small_disk

ITEMS = "items (id int PRIMARY KEY, n int)"


def opened(open_shop: Open) -> LoggedShop:
    shop = open_shop(ORDERS, ITEMS)
    shop.execute(
        "INSERT INTO orders SELECT n, 'new', n, NULL FROM generate_series(1, 10) AS n",
        "INSERT INTO items VALUES (1, 0)",
    )
    return shop


def assert_healed(shop: LogShop[Any]) -> None:
    """One more sync makes it good, and another one goes on from there."""
    for _ in range(2):
        shop.stand.land("orders", "items")
        shop.assert_equal("orders", "items")
        shop.execute(*CHANGE)
    shop.stand.land("orders", "items")
    shop.assert_equal("orders", "items")
    shop.stand.assert_tidy("orders", "items")
    left = [*(shop.shelf().folder / "scratch").glob("*")]
    assert left == []


PLACES = (*STEPS, *map(str, Point))
OF_LOAD = (Point.READING, Point.STAGED, Point.BEFORE_COMMIT, Point.AFTER_COMMIT, Point.LANDED)


@of_log(
    "T72",
    f"kill -9 of the whole process at each step of a sync: {', '.join(STEPS[:-1])} of the log, when it has been given up, and at the nine points of a landing",
    holds="the source gives up nothing that is not on disk; one more sync: both tables equal the source, nothing is there twice, no file, lease or open sequence is left",
)
@pytest.mark.parametrize("step", PLACES)
def test_a_killed_sync_is_made_good_by_the_next(open_shop: Open, step: str) -> None:
    shop = opened(open_shop)
    shop.stand.land("orders", "items")
    shop.execute(*CHANGE)
    killed_in("tests.conformance.log_process", shop.stand, step, "orders", Mode.SYNC)
    assert lsn_of(shop.confirmed()) <= max(shop.read_to(), shop.at().lsn or 0)
    shop.execute(*CHANGE)
    assert_healed(shop)


@of_log(
    "T72",
    "kill -9 of the whole process at each of five points of a first load, changes before and after it",
    holds="the next sync loads the table, joined with the log, and the one after it goes on: both sides are equal",
)
@pytest.mark.parametrize("step", map(str, OF_LOAD))
def test_a_killed_load_is_made_good_by_the_next(open_shop: Open, step: str) -> None:
    shop = opened(open_shop)
    killed_in("tests.conformance.log_process", shop.stand, step, "orders", Mode.SYNC)
    shop.execute(*CHANGE)
    assert_healed(shop)


@of_log(
    "T72",
    "The source crashes after a sync has given up the log, so that it has forgotten how far; and while a sync reads it, once at each step",
    holds="the run that it interrupts says so; the next one lands every change once, and nothing again that has landed",
)
def test_a_source_that_crashes(open_shop: Open) -> None:
    shop = opened(open_shop)
    shop.stand.land("orders", "items")
    shop.execute(*CHANGE)
    shop.stand.land("orders", "items")
    for _ in range(2):
        shop.stand.shop.postgres.restart("immediate")
        assert lsn_of(shop.confirmed()) <= shop.read_to()
        versions = shop.stand.versions("orders")
        reports = shop.stand.land("orders", "items")
        assert {report.rows.inserted + report.rows.updated for report in reports.values()} == {0}, reports
        assert len(shop.stand.versions("orders")) - len(versions) <= 1
        shop.execute(*CHANGE)
        shop.stand.land("orders", "items")
        shop.assert_equal("orders", "items")
    assert_healed(shop)


@of_log(
    "T72",
    "Six syncs of the same two tables at once, five times over, while rows change",
    holds="each ends well or says that another one is at work; none reads the slot while another does, and both sides are equal after one more",
)
def test_syncs_at_once(open_shop: Open) -> None:
    syncs_at_once(opened(open_shop))


def syncs_at_once(shop: LogShop[Any]) -> None:
    shop.stand.land("orders", "items")
    told: list[str] = []

    def sync() -> None:
        told.extend(str(report.status) for report in shop.stand.sync("orders", "items").values())

    for _ in range(5):
        shop.execute(*CHANGE)
        threads = [threading.Thread(target=sync) for _ in range(6)]
        for thread in threads:
            thread.start()
        shop.execute(*CHANGE)
        for thread in threads:
            thread.join(120)
    assert len(told) == 60
    assert set(told) <= {str(Status.LANDED), str(Status.IDLE), str(Status.BUSY)}
    assert_healed(shop)


@of_log(
    "T72",
    "The disk of the segments is full before a sync begins, and is too small for what the log has; then there is room again",
    holds="the runs name the folder, the source gives up nothing, copies stay as they are and nothing is left over; with room every change lands, once",
)
def test_a_disk_that_is_full(open_shop: Open) -> None:
    shop = opened(open_shop)
    folder = shop.shelf().folder
    with small_disk(folder, 8):
        shop.stand.land("orders", "items")
        before, confirmed = shop.stand.copy("orders"), shop.confirmed()
        shop.execute(*CHANGE)
        fill(folder / "full")
        assert str(folder) in shop.refused("orders")
        (folder / "full").unlink()
        shop.execute(
            "INSERT INTO orders SELECT n, 'much', 1, (SELECT string_agg(md5(n::text || m), '') FROM generate_series(1, 40) AS m) FROM generate_series(20001, 32000) AS n",
        )
        for _ in range(2):
            assert str(folder) in shop.refused("orders")
        assert (shop.stand.copy("orders"), shop.confirmed()) == (before, confirmed)
        mount = ["mount", "-o", "remount,size=500m", str(folder)]
        subprocess.run(mount, check=True)
        assert_healed(shop)
