"""T8: the source's clock is put back, while transactions are open, between two looks, and by a failover to another host."""

from __future__ import annotations

import time
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from incremental_assets.core.planning.report import SyncReport
from tests.conformance.clock import ClockedPostgres
from tests.conformance.scenario import scenario
from tests.conformance.stand import Stand
from tests.shop import Shop, touching

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TABLES = """
- "public.orders:at:timestamp!upsert"
- "public.visits:at:timestamp!append"
- "public.days:day:date!upsert"
- "public.local:at:datetime!upsert"
- "public.readings:id:integer!append"
"""
SCHEMA = (
    "CREATE TABLE orders (id int PRIMARY KEY, note text, at timestamptz NOT NULL DEFAULT now())",
    "CREATE TABLE visits (id int, at timestamptz NOT NULL DEFAULT now())",
    "CREATE TABLE days (id int PRIMARY KEY, day date NOT NULL DEFAULT current_date)",
    "CREATE TABLE local (id int PRIMARY KEY, at timestamp NOT NULL DEFAULT localtimestamp)",
    "CREATE TABLE readings (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, value int)",
    *touching("orders", "at"),
    *touching("days", "day"),
    *touching("local", "at"),
)
STAMPED = ("orders", "visits", "days", "local")
NAMES = (*STAMPED, "readings")


def _opened(server: ClockedPostgres, folder: Path, spark: SparkSession, options: str = "") -> Stand:
    """A stand on the test's own server."""
    server.create_database("shop")
    desk = Stand(Shop.open(server, "shop", folder, TABLES, options=f"unlisted: ignore\n{options}"), spark)
    desk.execute(*SCHEMA)
    return desk


def _write(desk: Stand, number: int) -> None:
    desk.execute(
        f"INSERT INTO orders VALUES ({number}, 'new')",
        f"INSERT INTO visits VALUES ({number})",
        f"INSERT INTO days VALUES ({number})",
        f"INSERT INTO local VALUES ({number})",
        f"INSERT INTO readings (value) VALUES ({number})",
    )


def _mark(report: SyncReport) -> datetime:
    assert report.new_watermark is not None
    return report.new_watermark.moment()


def _assert_equal(desk: Stand, *names: str) -> None:
    for name in names or NAMES:
        desk.assert_equal(name)


def _assert_not_above_the_clock(desk: Stand, reports: dict[str, SyncReport]) -> None:
    ((clock,),) = desk.source("SELECT clock_timestamp()")
    for name in ("orders", "visits", "local"):
        mark = reports[name].new_watermark
        assert mark is not None, name
        assert mark.moment().replace(tzinfo=None) <= clock, f"{name}: the watermark {mark} is above the clock {clock}"


@scenario(
    "T8",
    "The source's clock is put back by 60 s; rows are stamped before, meanwhile and after; a first run comes at once, a second when the clock has caught up",
    holds="nothing is lost, an append lands each row once; the run that sees it says `best_effort` and warns, and no watermark stands above the source's clock",
    long=True,
)
def test_the_clock_is_put_back(clocked: ClockedPostgres, tmp_path: Path, spark: SparkSession) -> None:
    desk = _opened(clocked, tmp_path, spark)
    _write(desk, 1)
    first = desk.land()
    clocked.clock.set_below(_mark(first["orders"]), 60)
    _write(desk, 2)
    seen = desk.land()

    _assert_equal(desk)
    _assert_not_above_the_clock(desk, seen)
    for name in STAMPED:
        assert seen[name].guarantee == "best_effort", seen[name]
        assert "put back" in seen[name].guarantee_reason
        assert any("the source's clock was put back" in text for text in seen[name].warnings), seen[name]
    assert seen["readings"].guarantee == "settled", "numbers come from no clock"
    _write(desk, 3)
    again = desk.land()
    _assert_equal(desk)
    _assert_not_above_the_clock(desk, again)
    assert not any("was put back" in text for name in STAMPED for text in again[name].warnings), "it is told once"
    clocked.clock.step(900)
    _write(desk, 4)
    after = desk.land()
    _assert_equal(desk)
    assert {report.guarantee for report in after.values()} == {"settled"}


@scenario(
    "T8",
    "The source's clock is put back just after a run, and rows are stamped; the next run comes when the clock is past where it had been",
    holds="the rows that were stamped in the time that came twice land, though the clock alone shows nothing",
    long=True,
)
def test_the_clock_has_caught_up_before_the_next_run(
    clocked: ClockedPostgres, tmp_path: Path, spark: SparkSession
) -> None:
    desk = _opened(clocked, tmp_path, spark)
    _write(desk, 1)
    first = desk.land()
    clocked.clock.set_below(_mark(first["orders"]), 3)
    _write(desk, 2)
    desk.source(f"SELECT pg_sleep_until('{first['orders'].new_watermark}'::timestamptz + interval '3 s')")
    seen = desk.land()

    _assert_equal(desk)
    assert {seen[name].guarantee for name in STAMPED} == {"best_effort"}


@scenario(
    "T8",
    "The source's clock is put back by 60 s while a transaction is open that has stamped a row and drawn a number; others commit meanwhile, and it commits after the next runs",
    holds="its rows land, whatever the clock shows when it ends",
    long=True,
)
def test_the_clock_is_put_back_while_a_transaction_is_open(
    clocked: ClockedPostgres, tmp_path: Path, spark: SparkSession
) -> None:
    desk = _opened(clocked, tmp_path, spark)
    _write(desk, 1)
    first = desk.land()
    with desk.shop.connect() as slow:
        slow.execute("INSERT INTO readings (value) VALUES (100)")
        clocked.clock.set_below(_mark(first["orders"]), 60)
        slow.execute("INSERT INTO orders (id, note, at) VALUES (100, 'after the step', clock_timestamp())")
        slow.execute("INSERT INTO visits (id, at) VALUES (100, clock_timestamp())")
        _write(desk, 2)
        desk.land()
        time.sleep(3)
        _write(desk, 3)
        seen = desk.land()
        _assert_not_above_the_clock(desk, seen)
        slow.commit()
    desk.land()
    _assert_equal(desk, "orders", "visits", "readings")


@scenario(
    "T8",
    "Tables stand still for a run, which moves their watermarks all the same; then the source's clock is put back by 60 s, and rows are written",
    holds="they land",
    long=True,
)
def test_idle_tables_know_the_clock_too(clocked: ClockedPostgres, tmp_path: Path, spark: SparkSession) -> None:
    desk = _opened(clocked, tmp_path, spark)
    _write(desk, 1)
    desk.land()
    time.sleep(3)
    idle = desk.land()
    assert {str(report.status) for report in idle.values()} == {"idle"}
    clocked.clock.set_below(_mark(idle["orders"]), 60)
    _write(desk, 2)
    desk.land()
    _assert_equal(desk)
