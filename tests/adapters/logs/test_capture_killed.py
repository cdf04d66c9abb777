"""A sync of a table that is read from the log ends anywhere, as by kill -9, and the next one makes it good: nothing is lost, and nothing is there twice."""

from __future__ import annotations

from dataclasses import replace

import pytest

from incremental_assets.core.captures.log.lsn import lsn_of
from incremental_assets.core.ports import Ports
from tests.adapters.logs.moments import Died, dying
from tests.adapters.logs.shelved import LoggedShop, Open
from tests.disks import fill, small_disk
from tests.fakes import Killed, Process
from tests.fakes.world import Watched

STEPS = ("spool", "decode", "write", "finish", "advance", "end")


KEEPS = {"one row per key": "", "every change": "strategy: append"}
"""What is configured of the table for each copy."""


def begun(open_shop: Open, more: str = "") -> LoggedShop:
    """Ten orders have landed, and others have come, changed and gone since."""
    shop = open_shop(more=more)
    shop.execute("INSERT INTO orders SELECT n, 'new', n, NULL FROM generate_series(1, 10) AS n")
    shop.land()
    change(shop)
    return shop


def assert_all_there(shop: LoggedShop, keeps: str) -> None:
    if KEEPS[keeps]:
        shop.assert_replayed()
    else:
        shop.assert_equal()


def change(shop: LoggedShop) -> None:
    shop.execute(
        "INSERT INTO orders SELECT max(id) + 1, 'new', 1, NULL FROM orders",
        "UPDATE orders SET total = total + 1 WHERE id > 3",
        "DELETE FROM orders WHERE id = (SELECT min(id) FROM orders)",
        "UPDATE orders SET id = id + 1000 WHERE id = (SELECT min(id) FROM orders)",
    )


@pytest.mark.acceptance
@pytest.mark.parametrize("keeps", KEEPS)
def test_a_read_of_the_log_that_dies_at_any_step_is_made_good(open_shop: Open, keeps: str) -> None:
    shop = begun(open_shop, KEEPS[keeps])
    for number, step in enumerate(STEPS, 1):
        moments: list[str] = []
        with dying(number, moments), pytest.raises(Died):
            shop.stand.sync("orders")
        assert moments[-1] == step
        # The source keeps its log for as long as no segment is on disk.
        assert lsn_of(shop.confirmed()) <= max(shop.read_to(), shop.at().lsn or 0)
        if step in ("finish", "end"):
            shop.land()
            assert_all_there(shop, keeps)
        change(shop)
    shop.land()
    assert_all_there(shop, keeps)
    shop.stand.assert_tidy("orders")


MOMENTS = ("after snapshot", "before write", "after write", "before apply", "after apply", "before discard")


@pytest.mark.acceptance
@pytest.mark.parametrize("keeps", KEEPS)
@pytest.mark.parametrize("is_load", [False, True], ids=["changes", "load"])
def test_a_sync_that_dies_at_any_moment_is_made_good(open_shop: Open, keeps: str, *, is_load: bool) -> None:
    shop = open_shop(more=KEEPS[keeps])
    shop.execute("INSERT INTO orders SELECT n, 'new', n, NULL FROM generate_series(1, 10) AS n")
    if not is_load:
        shop.land()
    for moment in MOMENTS:
        change(shop)
        process = Process(moment)
        process.at[moment] = process.kill

        def through(ports: Ports, process: Process = process) -> Ports:
            watched = {name: Watched(getattr(ports, name), process) for name in ("source", "stage", "lake")}
            return replace(ports, **watched)  # type: ignore[arg-type]

        with pytest.raises(Killed):
            shop.stand.sync("orders", through=through)
        change(shop)
        if moment in ("after write", "before discard"):
            shop.land()
            assert_all_there(shop, keeps)
    shop.land()
    assert_all_there(shop, keeps)
    shop.stand.assert_tidy("orders")


def test_a_disk_that_is_full_is_named_wherever_it_takes_nothing_more(open_shop: Open) -> None:
    shop = open_shop()
    folder = shop.shelf().folder
    with small_disk(folder, 8):
        fill(folder / "full")
        assert f"{folder}: a range of the log could not be written there (No space left on device)" in shop.refused()
        (folder / "full").unlink()
        shop.execute("INSERT INTO orders SELECT n, 'new', n, NULL FROM generate_series(1, 10) AS n")
        shop.land()
        change(shop)
        fill(folder / "full")
        assert f"{folder}: a range of the log could not be written there (No space left on device)" in shop.refused()
        (folder / "full").unlink()
        shop.land()
        shop.assert_equal()


@pytest.mark.acceptance
@pytest.mark.parametrize("keeps", KEEPS)
def test_a_source_that_crashes_and_forgets_what_was_given_up_sends_nothing_twice(open_shop: Open, keeps: str) -> None:
    shop = begun(open_shop, KEEPS[keeps])
    shop.land()
    shop.stand.shop.postgres.restart("immediate")
    change(shop)
    shop.land()
    assert_all_there(shop, keeps)
