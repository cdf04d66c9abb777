"""A sync whose table keeps a history ends anywhere, as by kill -9, and the next one makes it good: every version, each once."""

from __future__ import annotations

import shutil
from dataclasses import replace
from datetime import timedelta

import pytest

from incremental_assets.adapters.logs.postgresql import source_log
from incremental_assets.core.planning.plan import Mode
from incremental_assets.core.ports import Ports
from tests.adapters.logs.moments import Died, dying
from tests.adapters.logs.shelved import LoggedShop, Open
from tests.adapters.logs.test_history import ORDERS, SCD2, assert_sound, versions
from tests.fakes import Killed, Process
from tests.fakes.world import Watched

MOMENTS = ("after write", "before apply", "after apply", "before follow", "after follow", "before discard")
ITEMS = "items (id int PRIMARY KEY, n int)"


def kill(shop: LoggedShop, moment: str) -> None:
    process = Process(moment)
    process.at[moment] = process.kill

    def through(ports: Ports) -> Ports:
        watched = {name: Watched(getattr(ports, name), process) for name in ("source", "stage", "lake")}
        return replace(ports, **watched)  # type: ignore[arg-type]

    with pytest.raises(Killed):
        shop.stand.sync("orders", through=through)


def change(shop: LoggedShop, number: int) -> list[tuple[int, str, str]]:
    """Two versions of the row 1, and a row that comes and goes; the versions that there are of them."""
    shop.execute(
        f"UPDATE orders SET status = 'a{number}' WHERE id = 1",
        f"UPDATE orders SET status = 'b{number}' WHERE id = 1",
        f"INSERT INTO orders VALUES ({number}, 'short')",
        f"DELETE FROM orders WHERE id = {number}",
    )
    return [
        (1, f"a{number}", "there"),
        (1, f"b{number}", "there"),
        (number, "short", "there"),
        (number, "short", "gone"),
    ]


def killed_at(open_shop: Open, moments: tuple[str, ...]) -> None:
    shop = open_shop(ORDERS, more=SCD2)
    shop.execute("INSERT INTO orders VALUES (1, 'new')")
    shop.land()
    known, number = [(1, "new", "there")], 10
    for moment in moments:
        known += change(shop, number)
        kill(shop, moment)
        known += change(shop, number + 1)
        if moment in ("after apply", "after follow"):
            shop.land()
            assert sorted(versions(shop)) == sorted(known), moment
        number += 2
    shop.land()
    assert sorted(versions(shop)) == sorted(known)
    assert [row[1] for row in versions(shop) if row[0] == 1] == [row[1] for row in known if row[0] == 1]
    assert_sound(shop)
    shop.stand.assert_tidy("orders")
    assert [*(shop.shelf().folder / "scratch").glob("*")] == []


@pytest.mark.acceptance
def test_a_sync_that_dies_between_the_copy_and_its_history_loses_no_version(open_shop: Open) -> None:
    killed_at(open_shop, ("after apply",))


@pytest.mark.acceptance
def test_a_sync_that_dies_at_any_moment_loses_no_version_and_has_none_twice(open_shop: Open) -> None:
    killed_at(open_shop, MOMENTS)


def kept_for_the_history(shop: LoggedShop, patch: pytest.MonkeyPatch) -> None:
    """Another table goes on meanwhile, and nothing is kept any longer than it is needed."""
    patch.setattr(source_log, "KEEP", timedelta(0))
    shop.execute("INSERT INTO orders VALUES (1, 'new')", "INSERT INTO items VALUES (1, 0)")
    shop.stand.land("orders", "items")
    known = [(1, "new", "there"), *change(shop, 10)]
    kill(shop, "after apply")
    for _ in range(3):
        shop.execute("UPDATE items SET n = n + 1")
        shop.land("items")
    shop.land()
    assert sorted(versions(shop)) == sorted(known)


@pytest.mark.acceptance
def test_what_a_history_has_still_to_follow_is_kept(open_shop: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    kept_for_the_history(open_shop(ORDERS, ITEMS, more=SCD2), monkeypatch)


def lost_behind_the_copy(shop: LoggedShop) -> None:
    shop.execute("INSERT INTO orders VALUES (1, 'new')")
    shop.land()
    change(shop, 10)
    kill(shop, "after apply")
    for each in shop.shelf().segments.iterdir():
        shutil.rmtree(each)


@pytest.mark.acceptance
@pytest.mark.parametrize("is_last", [True, False], ids=["the last", "another"])
def test_a_segment_that_is_lost_with_versions_is_named_and_a_full_refresh_goes_on_without_them(
    open_shop: Open, *, is_last: bool
) -> None:
    shop = open_shop(ORDERS, more=SCD2)
    lost_behind_the_copy(shop)
    if not is_last:
        # Its record is gone as well, and with it what the last one was.
        (shop.shelf().folder / "followed.json").unlink()
    told = shop.refused()
    assert " is missing" in told
    assert (
        "with versions that its history does not have yet; restore it from a backup of the lake, or read everything"
        in told
    )
    assert versions(shop) == [(1, "new", "there")]
    shop.execute("UPDATE orders SET status = 'later'")
    shop.land(mode=Mode.FULL_REFRESH)
    assert versions(shop) == [(1, "new", "there"), (1, "later", "there")]
    shop.execute("UPDATE orders SET status = 'again'", "UPDATE orders SET status = 'and again'")
    shop.land()
    assert [row[1] for row in versions(shop)] == ["new", "later", "again", "and again"]
    assert_sound(shop)


@pytest.mark.acceptance
def test_a_read_of_the_log_that_dies_before_the_history_goes_on_changes_nothing(open_shop: Open) -> None:
    shop = open_shop(ORDERS, more=SCD2)
    shop.execute("INSERT INTO orders VALUES (1, 'new')")
    shop.land()
    known = [(1, "new", "there"), *change(shop, 10)]
    kill(shop, "after apply")
    known += change(shop, 11)
    for number in (1, 4, 6):
        with dying(number, []), pytest.raises(Died):
            shop.stand.sync("orders")
    shop.land()
    assert sorted(versions(shop)) == sorted(known)
    assert_sound(shop)
