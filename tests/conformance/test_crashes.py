"""T3: the source crashes and takes back what was to be seen already: rows that were not on disk yet, and tables that are not logged."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from incremental_assets.core.model.guarantee import Guarantee
from tests.conformance.clock import ClockedPostgres
from tests.conformance.scenario import scenario
from tests.conformance.stand import Stand
from tests.shop import Shop, touching

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TABLES = """
- "public.events:id:integer!{strategy}"
- "public.orders:at:timestamp!{strategy}"
"""
EVENTS = "CREATE TABLE events (id bigserial PRIMARY KEY, what text)"
ORDERS = "CREATE TABLE orders (id bigserial PRIMARY KEY, what text, at timestamptz NOT NULL DEFAULT now())"
AHEAD = 100
"""Numbers that are drawn before the crash: more than a sequence logs in advance."""


def _opened(server: ClockedPostgres, folder: Path, spark: SparkSession, strategy: str, *statements: str) -> Stand:
    server.create_database("shop")
    tables = TABLES.format(strategy=strategy)
    desk = Stand(Shop.open(server, "shop", folder, tables, options="unlisted: ignore\n"), spark)
    # Whatever else commits would bring the log to disk.
    with desk.shop.connect() as admin:
        admin.autocommit = True
        admin.execute("ALTER SYSTEM SET autovacuum = off")
        admin.execute("SELECT pg_reload_conf()")
    desk.execute(*statements)
    return desk


@contextmanager
def _nothing_reaches_the_disk(server: ClockedPostgres, desk: Stand) -> Iterator[None]:
    """The writer of the log stands still just before it writes."""
    ((pid,),) = desk.source("SELECT pid FROM pg_stat_activity WHERE backend_type = 'walwriter'")
    with server.clock.held(pid):
        yield


def _fill(desk: Stand, what: str, count: int) -> None:
    with desk.shop.connect() as writer:
        writer.execute("SET LOCAL synchronous_commit = off")
        for name in ("events", "orders"):
            writer.execute(f"INSERT INTO {name} (what) SELECT %s FROM generate_series(1, {count})".encode(), [what])


@scenario(
    "T3",
    "Commits do not wait for the disk, a sync reads their rows, and the source crashes: rows and numbers are gone, and the numbers come again",
    holds="the rows that get those numbers land, and those that get new stamps; a run that meets a number below what was read says so, and is not `settled`",
    long=True,
)
@pytest.mark.parametrize("strategy", ["append", "upsert"])
def test_numbers_that_a_crash_gives_out_again(
    clocked: ClockedPostgres, tmp_path: Path, spark: SparkSession, strategy: str
) -> None:
    desk = _opened(clocked, tmp_path, spark, strategy, EVENTS, ORDERS, *touching("orders", "at"))
    desk.execute("INSERT INTO events (what) VALUES ('first')", "INSERT INTO orders (what) VALUES ('first')")
    reports = [desk.land()]
    with _nothing_reaches_the_disk(clocked, desk):
        _fill(desk, "lost", AHEAD)
        reports.append(desk.land())
        clocked.stop("immediate")
    clocked.start()
    gone = desk.source("SELECT count(*) FROM events")
    desk.execute("INSERT INTO events (what) VALUES ('again')", "INSERT INTO orders (what) VALUES ('again')")
    reports.append(desk.land())
    desk.execute("INSERT INTO events (what) VALUES ('once more')")
    reports.append(desk.land())
    ((number,),) = desk.source("SELECT max(id) FROM events")

    assert gone == [(1,)], "the rows were on disk already"
    assert number <= AHEAD, "the numbers did not come again"
    for name in ("events", "orders"):
        there = set(desk.copy(name, "id", "what"))
        assert set(desk.source(f"SELECT id, what FROM {name}")) <= there
    for report in reports:
        assert report["orders"].guarantee is Guarantee.SETTLED
    assert [report["events"].guarantee for report in reports] == [Guarantee.SETTLED] * 2 + [Guarantee.BEST_EFFORT] * 2
    assert "numbers have begun again" in reports[-1]["events"].guarantee_reason


@scenario(
    "T3",
    "A row lands that is not on disk yet, the source crashes, and the next row gets its number, its transaction's number and its place",
    holds="the row lands; what tells versions of rows apart counts for one start of the server",
    long=True,
)
def test_a_crash_gives_number_transaction_and_place_to_another_row(
    clocked: ClockedPostgres, tmp_path: Path, spark: SparkSession
) -> None:
    desk = _opened(clocked, tmp_path, spark, "append", EVENTS, ORDERS)
    desk.execute("INSERT INTO events (what) VALUES ('first')")
    desk.land("events")
    # From here on the next number is written to the log again.
    with desk.shop.connect() as admin:
        admin.autocommit = True
        admin.execute("CHECKPOINT")
    with _nothing_reaches_the_disk(clocked, desk):
        _fill(desk, "lost", 1)
        lost = desk.source("SELECT id, xmin::text, ctid::text FROM events WHERE what = 'lost'")
        desk.land("events")
        clocked.stop("immediate")
    clocked.start()
    with desk.shop.connect() as writer:
        for name in ("events", "orders"):
            writer.execute(f"INSERT INTO {name} (what) VALUES ('again')".encode())
    again = desk.source("SELECT id, xmin::text, ctid::text FROM events WHERE what = 'again'")
    desk.sync("events")

    assert again == lost, "the story needs a row that nothing tells from the lost one"
    assert (2, "again") in desk.copy("events", "id", "what")


@scenario(
    "T3",
    "A table with a number as its cursor is UNLOGGED, and the source crashes: it is empty, and its sequence begins again",
    holds="every run says `best_effort` and names the sequence, as the rows that come then may be missed; a stamp as the cursor is `settled` and loses none",
    long=True,
)
def test_a_crash_empties_a_table(clocked: ClockedPostgres, tmp_path: Path, spark: SparkSession) -> None:
    unlogged = [each.replace("CREATE TABLE", "CREATE UNLOGGED TABLE") for each in (EVENTS, ORDERS)]
    desk = _opened(clocked, tmp_path, spark, "append", *unlogged)
    _fill(desk, "lost", AHEAD)
    before = desk.land()
    clocked.restart("immediate")
    _fill(desk, "new", 1)
    after = desk.land()

    assert desk.source("SELECT id FROM events") == [(1,)]
    assert {report["events"].guarantee for report in (before, after)} == {Guarantee.BEST_EFFORT}
    assert "events_id_seq is UNLOGGED" in after["events"].guarantee_reason
    assert {report["orders"].guarantee for report in (before, after)} == {Guarantee.SETTLED}
    assert {what for (what,) in desk.copy("orders", "what")} == {"lost", "new"}
