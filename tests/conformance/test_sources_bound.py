"""T1, T2, T4, T7, T9 on each database that has a server here: what commits late, and where a window ends."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest

from incremental_assets.adapters.databases.mysql import transactions
from incremental_assets.core.model.window import Window
from incremental_assets.core.planning.plan import Mode
from tests.conformance.conftest import OpenWorld
from tests.conformance.meddling import before_the_read
from tests.conformance.points import Point, at_points, once
from tests.conformance.scenario import played_on, scenario
from tests.conformance.stand import Stand
from tests.conformance.two_tables import BOTH, GUARD, TABLES, moment, row, stamped_tables
from tests.conformance.worlds import World, held
from tests.waiting import until

# --- T1 -----------------------------------------------------------------------------------------------


@scenario(
    "T1",
    "A transaction stamps its rows and stays open for longer than any margin; others commit rows with later stamps, a sync runs, and then it commits",
    holds="the run is `settled`, and the next sync lands the rows, once, and reports them as late; upsert and append",
)
def test_stamps_that_commit_late_on_each_database(world: World, open_world: OpenWorld) -> None:
    if world.title == "SQLite":
        world.spares("a file has one writer: nobody commits beside an open transaction")
    desk = open_world(TABLES, *stamped_tables(world))
    with held(world.session()) as slow:
        slow.run(*row(1, "late"))
        time.sleep(GUARD)
        desk.execute(*row(2, "quick"))
        first = desk.land()
        slow.commit()
    second = desk.land()

    assert {(report.rows.inserted, report.guarantee) for report in first.values()} == {(1, "settled")}
    assert {(each.rows.inserted, each.rows.updated, each.rows.late) for each in second.values()} == {(1, 0, 1)}
    for name in BOTH:
        desk.assert_equal(name)
    desk.assert_tidy(*BOTH)


@scenario(
    "T1",
    "A process stamps its rows and holds the one write lock of the file over a sync, for longer than any margin",
    holds="the run says `best_effort` and names the process and the cure; under a `holdback` the rows land once they are older than it",
)
@played_on("sqlite")
def test_the_writer_of_a_file_is_named(world: World, open_world: OpenWorld) -> None:
    desk = open_world(
        "- {table: {s}.orders, cursor: {column: updated_at, type: {c}}, strategy: upsert, holdback: 8s}\n"
        '- "{s}.visits:at:{c}!append"',
        *stamped_tables(world),
        *row(2, "quick"),
    )
    desk.land()
    with held(world.session()) as slow:
        slow.run(*row(1, "late"))
        time.sleep(GUARD)
        meanwhile = desk.land()
        slow.commit()
    time.sleep(8)
    desk.land()

    assert {name: report.guarantee for name, report in meanwhile.items()} == {
        "orders": "holdback",
        "visits": "best_effort",
    }
    assert "has held the file's write lock" in str(meanwhile["visits"].guarantee_reason)
    assert "set a `holdback`" in str(meanwhile["visits"].guarantee_reason)
    desk.assert_equal("orders")


def in_state(world: World, words: str) -> bool:
    query = f"SELECT COUNT(*) FROM information_schema.processlist WHERE state LIKE '%{words}%'"
    return bool(world.rows(query)[0][0])


@contextmanager
def elsewhere(work: Callable[[], Any]) -> Iterator[None]:
    """What another session does meanwhile."""
    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        thread.join()


@scenario(
    "T1",
    "A statement has its stamp and waits for a metadata lock for longer than any margin, in no list of transactions; a sync runs while it waits, and another one when it has the lock and has not committed",
    holds="both runs are `settled`, and the next sync lands the row, once",
)
@played_on("mariadb", "mysql")
def test_a_statement_that_waits_for_a_metadata_lock(world: World, open_world: OpenWorld) -> None:
    desk = open_world(TABLES, *stamped_tables(world), *row(1, "first"))
    desk.land()
    with held(world.session()) as locker, held(world.session()) as waiter:
        locker.run("LOCK TABLES visits WRITE, orders READ")
        with elsewhere(lambda: waiter.run(row(2, "waited")[1])):
            until(lambda: in_state(world, "metadata lock"))
            time.sleep(GUARD + 1)
            waiting = desk.sync("orders")
            locker.run("UNLOCK TABLES")
        desk.execute(*row(3, "meanwhile"))
        granted = desk.land()
        waiter.commit()
    desk.land()

    assert {report.guarantee for report in (*waiting.values(), *granted.values())} == {"settled"}
    for name in BOTH:
        desk.assert_equal(name)


@scenario(
    "T1",
    "Another session reads the list of open transactions without a pause, so that the server shows an old one, while a transaction has stamped a row",
    holds="the run says `best_effort` and why; when nobody reads it any more, `settled`",
)
@played_on("mariadb", "mysql")
def test_a_list_of_transactions_that_others_keep_old(
    world: World, open_world: OpenWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transactions, "PATIENCE", (0.0, 0.15))
    desk, done = open_world(TABLES, *stamped_tables(world), *row(1, "first")), threading.Event()

    def look() -> None:
        with held(world.session()) as onlooker:
            while not done.is_set():
                onlooker.run("SELECT COUNT(*) FROM information_schema.innodb_trx")
                time.sleep(0.01)

    with elsewhere(look):
        try:
            time.sleep(0.5)
            with held(world.session()) as unseen:
                unseen.run(*row(2, "unseen"))
                blind = desk.sync()
                unseen.commit()
        finally:
            done.set()
    desk.execute(*row(3, "after"))
    seeing = desk.land()

    assert {report.guarantee for report in blind.values()} == {"best_effort"}
    assert all("innodb_trx" in str(report.guarantee_reason) for report in blind.values())
    assert {report.guarantee for report in seeing.values()} == {"settled"}


@scenario(
    "T1",
    "A transaction is prepared (XA), its client is gone, and the server crashes: it shows the time of its restart as the transaction's; rows come beside it, and later it is committed",
    holds="rows land at once, the watermark stays where it was, and the transaction's row lands when it is committed, once",
)
@played_on("mariadb", "mysql")
def test_a_prepared_transaction_over_a_crash(world: World, open_world: OpenWorld) -> None:
    desk = open_world('- "{s}.orders:updated_at:{c}!upsert"', *stamped_tables(world), row(1, "first")[0])
    mark = desk.land()["orders"].new_watermark
    with held(world.session()) as client:
        client.run("XA START 'one'", row(2, "prepared")[0], "XA END 'one'", "XA PREPARE 'one'")
    time.sleep(GUARD)
    world.crash()
    world.configure('- "{s}.orders:updated_at:{c}!upsert"')
    try:
        desk.execute(row(3, "after")[0])
        beside = desk.land()["orders"]
    finally:
        desk.execute("XA COMMIT 'one'")
    desk.land()

    assert beside.rows.inserted == 1
    assert desk.settled_at("orders") != mark
    assert beside.new_watermark == mark
    desk.assert_equal("orders")


# --- T2 -----------------------------------------------------------------------------------------------


@scenario(
    "T2",
    "Two transactions draw numbers; the second commits, syncs run for longer than any margin, then the first commits, and a third number is rolled back for good",
    holds="append and upsert by the number land the first one with the next sync, once; the gap holds nothing up: the watermark goes past it",
)
def test_numbers_that_commit_out_of_order_on_each_database(world: World, open_world: OpenWorld) -> None:
    if world.title == "SQLite":
        world.spares("a file has one writer: numbers commit in the order in which they are drawn")
    names = ("events", "tickets")
    desk = open_world(
        '- "{s}.events:id:integer!append"\n- "{s}.tickets:id:integer!upsert"',
        *(f"CREATE TABLE {name} (id {world.words.numbered}, what varchar(40))" for name in names),
    )
    draw = [f"INSERT INTO {name} (what) VALUES ('drawn')" for name in names]
    with held(world.session()) as first, held(world.session()) as given_up:
        first.run(*draw)
        desk.execute(*draw)
        desk.land()
        time.sleep(GUARD)
        desk.land()
        first.commit()
        given_up.run(*draw)
        given_up.rollback()
    desk.execute(*draw)
    desk.land()
    for name in names:
        desk.assert_equal(name)
        assert len(desk.copy(name)) == 3
        mark = desk.settled(name)
        assert str(mark) >= "4", f"{name}: the gap at 3 holds the watermark at {mark}"


# --- T4 -----------------------------------------------------------------------------------------------


@scenario(
    "T4",
    "While a sync runs, two rows are committed: one between its plan and its snapshot, and one just after its snapshot, with an older stamp than the first",
    holds="the first lands in this sync and the second in the next, each once; then the table is idle",
)
def test_rows_that_come_while_a_sync_runs(world: World, open_world: OpenWorld) -> None:
    desk = open_world(TABLES, *stamped_tables(world), *row(1, "first"))
    desk.land()
    desk.execute(*row(2, "second"))
    # A server may tell a stamp in whole milliseconds; the bound is a moment before it.
    stamps: list[str] = []

    def before() -> None:
        time.sleep(0.01)
        stamps.append(world.clock())
        time.sleep(0.01)
        desk.execute(row(3, "before its snapshot")[0])

    def after() -> None:
        desk.execute(row(4, "after its snapshot", stamps[0])[0])

    def through(ports: Any) -> Any:
        return at_points(before_the_read({"orders": before})(ports), once(Point.READING, "orders", after))

    first = desk.land("orders", through=through)["orders"]
    second = desk.land("orders")["orders"]
    assert (first.rows.inserted, second.rows.inserted) == (2, 1)
    desk.assert_equal("orders")


# --- T7 -----------------------------------------------------------------------------------------------


@scenario(
    "T7",
    "Rows lie one microsecond apart around the ends of a backfill and of a reset, and at the watermark",
    holds="windows are cut between them to the microsecond, the watermark's own moment belongs to the next window, and no stamp is rounded",
)
def test_microsecond_neighbours_on_each_database(world: World, open_world: OpenWorld) -> None:
    stamps = [f"2026-03-01 12:00:00.03115{digit}" for digit in range(4, 9)]
    desk = open_world(
        '- "{s}.ticks:at:{c}!upsert"',
        f"CREATE TABLE ticks (id int NOT NULL PRIMARY KEY, note varchar(40), at {world.words.bare} NOT NULL)",
        *(f"INSERT INTO ticks VALUES ({n}, 'as it was', {world.words.at(at)})" for n, at in enumerate(stamps, 1)),
    )
    world.wait_until_dated("ticks")
    desk.land()
    desk.execute("UPDATE ticks SET note = 'changed'")
    third, fourth = (moment(world, f"2026-03-01T12:00:00.03115{digit}") for digit in "67")
    backfilled = desk.land(mode=Mode.BACKFILL, window=Window(third, fourth))["ticks"]
    assert (backfilled.rows.read, changed(desk)) == (1, [3])
    desk.reset("ticks", fourth)
    again = desk.land()["ticks"]
    assert (again.rows.read, changed(desk)) == (2, [3, 4, 5])

    assert again.new_watermark is not None
    mark = again.new_watermark.moment().replace(tzinfo=None)
    at = [world.words.at((mark + timedelta(microseconds=more)).isoformat(" ", "microseconds")) for more in (0, 1)]
    desk.execute(f"INSERT INTO ticks VALUES (11, 'at', {at[0]}), (12, 'after', {at[1]})")
    assert desk.land()["ticks"].rows.inserted == 2
    desk.assert_equal("ticks", "SELECT id, CASE WHEN id < 3 THEN 'as it was' ELSE note END, at FROM ticks")


def changed(desk: Stand[World]) -> list[int]:
    return [number for number, note in desk.copy("ticks", "id", "note") if note == "changed"]


# --- T9 -----------------------------------------------------------------------------------------------


@scenario(
    "T9",
    "A row is stamped in the year 2037, under `future:` land, quarantine and wait; then rows of today come",
    holds="no watermark passes the source's clock: every row of today lands; the row to come lands, is in quarantine, or waits, as it was configured",
)
def test_stamps_of_a_year_to_come(world: World, open_world: OpenWorld) -> None:
    names = ("land", "quarantine", "wait")
    far = world.words.at("2037-06-01 00:00:00.000000")
    desk = open_world(
        "\n".join(
            f"- {{table: {{s}}.{name}, cursor: {{column: at, type: {{c}}}}, future: {name}, strategy: upsert}}"
            for name in names
        ),
        *(f"CREATE TABLE {name} (id int NOT NULL PRIMARY KEY, at {world.words.stamp})" for name in names),
        *(f"INSERT INTO {name} (id) VALUES (1)" for name in names),
        *(f"INSERT INTO {name} VALUES (2, {far})" for name in names),
    )
    reports = desk.land()
    desk.execute(*(f"INSERT INTO {name} (id) VALUES (3)" for name in names))
    later = desk.land()

    for report in (*reports.values(), *later.values()):
        assert report.new_watermark is not None
        assert report.new_watermark.moment().year < 2037, report
    assert {name: [number for (number,) in desk.copy(name, "id")] for name in names} == {
        "land": [1, 2, 3],
        "quarantine": [1, 3],
        "wait": [1, 3],
    }
    assert [len(desk.quarantined(name)) for name in names] == [0, 1, 0]
