"""T10 on the databases beside PostgreSQL: kills, and a network or a server that goes away in the middle of a read."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from incremental_assets.core.planning.report import SyncReport
from tests.conformance.conftest import OpenWorld
from tests.conformance.killing import killed
from tests.conformance.mart import DECISIVE, NAMES, QUICKLY
from tests.conformance.meddling import assert_told, before_the_read
from tests.conformance.proxy import behind_a_proxy
from tests.conformance.scenario import played_on, scenario
from tests.conformance.stand import Stand
from tests.conformance.worlds import OTHERS, World

TABLES = """
- "{s}.orders:updated_at:{c}!upsert"
- "{s}.visits:at:{c}!append"
- {table: {s}.prices, strategy: full_refresh, refresh_every: 0s}
"""
ENOUGH = 20_000
"""Bytes of answers, of which the rows of any of the tables are more."""
HEALED = "the table fails in one sentence, the others land; one more sync: all equal, nothing twice, nothing left over"
KINDS = ("first load", "incremental")


def mart(world: World, open_world: OpenWorld) -> Stand[World]:
    """A table of each strategy, with rows that are wide enough to be cut in the middle of them. Nothing has landed."""
    text, numbers = "'" + "wide enough to be cut, " * 12 + "'", world.many(500)
    doubled = [
        f"INSERT INTO {name} ({columns}) SELECT {key}, {text}{more} FROM {name}"
        for name, columns, key, more in (
            ("orders", "id, note", "id + (SELECT top FROM (SELECT MAX(id) AS top FROM orders) t)", ""),
            ("visits", "who, what", "who", ""),
            ("prices", "sku, info, price", "sku + (SELECT top FROM (SELECT MAX(sku) AS top FROM prices) t)", ", price"),
        )
        for _ in range(3)
    ]
    return open_world(
        TABLES,
        f"CREATE TABLE orders (id int NOT NULL PRIMARY KEY, note varchar(400), updated_at {world.words.stamp})",
        f"CREATE TABLE visits (who int, what varchar(400), at {world.words.stamp})",
        "CREATE TABLE prices (sku int NOT NULL PRIMARY KEY, info varchar(400), price int)",
        f"INSERT INTO orders (id, note) SELECT n, {text} FROM {numbers}",
        f"INSERT INTO visits (who, what) SELECT n, {text} FROM {numbers}",
        f"INSERT INTO prices (sku, info, price) SELECT n, {text}, 1 FROM {numbers}",
        *doubled,
        options="" if world.title == "SQLite" else QUICKLY,
    )


def at_work(world: World, open_world: OpenWorld, running: str) -> Stand[World]:
    """One whose next sync is of this kind, and finds rows to land."""
    desk = mart(world, open_world)
    if running == "incremental":
        desk.land()
        change(desk)
    return desk


def change(desk: Stand[World]) -> None:
    now = desk.shop.words.now
    desk.execute(
        f"UPDATE orders SET note = 'changed', updated_at = {now} WHERE id % 10 = 0",
        "INSERT INTO orders (id, note) SELECT MAX(id) + 1, 'new' FROM orders",
        "INSERT INTO visits (who, what) SELECT who, what FROM visits WHERE who <= 100",
        "UPDATE prices SET price = price + 1",
    )


def struck(desk: Stand[World], strike: Callable[[], None]) -> dict[str, SyncReport]:
    """What a sync says that is struck while its rows are on their way, which they are as soon as a snapshot is open."""
    reports = desk.sync(through=before_the_read({"orders": strike}))
    for report in reports.values():
        if report.error:
            assert_told(report)
    return reports


def assert_healed(desk: Stand[World]) -> None:
    desk.land()
    change(desk)
    desk.land()
    for name in NAMES:
        desk.assert_equal(name)
    desk.assert_tidy(*NAMES)


@scenario(
    "T10",
    "kill -9 of the whole process in the read, when the batch is recorded, before the commit and after it, striking upsert, append and full_refresh in turn",
    holds="one more sync: every table equals the source, nothing is there twice, no staged batch, lease or open sequence is left",
    long=True,
)
@played_on(*OTHERS)
def test_a_killed_sync_is_made_good_on_each_database(world: World, open_world: OpenWorld) -> None:
    desk = at_work(world, open_world, "incremental")
    for point, table in zip(DECISIVE, (*NAMES, NAMES[0]), strict=True):
        killed(desk, point, table, "incremental")
        assert_healed(desk)
        change(desk)


def fault(name: str, kinds: tuple[str, ...] = KINDS) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """A scenario of a fault in the middle of the read, in runs of these kinds."""

    def mark(test: Callable[..., None]) -> Callable[..., None]:
        played = pytest.mark.parametrize("running", kinds)(played_on(*OTHERS)(test))
        where = " and ".join(f"{'an' if kind[0] == 'i' else 'a'} {kind}" for kind in kinds)
        return scenario("T10", f"{name}, during {where}", holds=HEALED, long=True)(played)

    return mark


def needs_server(world: World) -> None:
    if world.title == "SQLite":
        world.spares("a file is read by the sync's own process: there is no network, no session and no server between")


@fault("every connection to the database is cut after 20,000 bytes of rows")
def test_a_connection_that_is_cut_on_each_database(world: World, open_world: OpenWorld, running: str) -> None:
    needs_server(world)
    desk = at_work(world, open_world, running)
    with behind_a_proxy(desk) as between:
        reports = struck(desk, lambda: between.cut_after(ENOUGH))
        assert between.cuts
        assert any(report.error for report in reports.values())
        between.heal()
        assert_healed(desk)


@fault("every connection to the database goes silent after 20,000 bytes of rows and stays open", KINDS[:1])
def test_a_connection_that_goes_silent_on_each_database(world: World, open_world: OpenWorld, running: str) -> None:
    needs_server(world)
    desk = at_work(world, open_world, running)
    with behind_a_proxy(desk) as between:
        reports = struck(desk, lambda: between.stall_after(ENOUGH))
        assert between.stalled
        assert any(report.error for report in reports.values())
        between.heal()
        assert_healed(desk)


@fault("the database ends the sessions of the sync")
def test_sessions_that_are_ended_on_each_database(world: World, open_world: OpenWorld, running: str) -> None:
    needs_server(world)
    desk = at_work(world, open_world, running)
    with behind_a_proxy(desk) as between:
        reports = struck(desk, lambda: between.do_after(ENOUGH, world.end_sessions))
        assert between.done
        assert any(report.error for report in reports.values())
        assert_healed(desk)


@fault("the database is killed and started again")
def test_a_database_that_crashes_in_the_read(world: World, open_world: OpenWorld, running: str) -> None:
    needs_server(world)
    desk = at_work(world, open_world, running)
    with behind_a_proxy(desk) as between:
        reports = struck(desk, lambda: between.do_after(ENOUGH, world.crash))
        assert between.done
        assert any(report.error for report in reports.values())
    world.configure(TABLES, QUICKLY)
    assert_healed(desk)
