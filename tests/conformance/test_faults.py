"""T10: everything else that can break while a sync runs, brought about from outside or raised at a named point."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from incremental_assets.core.report import Status, SyncReport
from incremental_assets.demo.postgres import EmbeddedPostgres
from tests.conformance.conftest import OpenStand
from tests.conformance.mart import MAKE, MODES, NAMES, TABLES, assert_healed, prepare, window, working
from tests.conformance.points import Hook, Point, at_points, once
from tests.conformance.proxy import Proxy, proxy
from tests.conformance.scenario import scenario
from tests.conformance.stand import Stand
from tests.shop import Shop

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HEALED = "the table fails in one sentence, the others land; one more sync: all equal, nothing twice, nothing left over"
IN_EVERY_MODE = "during a first load, an incremental sync, a backfill and a full refresh"


def struck(desk: Stand, running: str, hook: Hook) -> dict[str, SyncReport]:
    """One run with a fault in it."""
    return desk.sync(
        *working(running),
        mode=MODES[running],
        window=window(running),
        through=lambda ports: at_points(ports, hook),
    )


def assert_told(report: SyncReport, *, by: str = "") -> None:
    """A failure is one sentence, and never the password."""
    assert report.status is Status.FAILED, report
    assert report.error
    assert "\n" not in report.error
    assert "Traceback" not in report.error
    assert by in report.error


# --- an error of this program's own, or of a library --------------------------------------------------


def moments() -> list[tuple[str, Point, str]]:
    return [
        (running, point, working(running)[(number + turn) % len(working(running))])
        for turn, running in enumerate(MODES)
        for number, point in enumerate(Point)
    ]


@scenario("T10", f"an unforeseen error is raised at each of nine points {IN_EVERY_MODE}", holds=HEALED, long=True)
@pytest.mark.parametrize(("running", "point", "table"), moments(), ids=str)
def test_an_error_nobody_foresaw(stand: OpenStand, running: str, point: Point, table: str) -> None:
    desk = stand(TABLES, *MAKE)
    prepare(desk, running)

    def raise_it() -> None:
        raise ZeroDivisionError("a fault in somebody's library")

    reports = struck(desk, running, once(point, table, raise_it))

    assert_told(reports[table], by="unexpected ZeroDivisionError: a fault in somebody's library")
    assert {name for name, report in reports.items() if report.error} == {table}
    assert_healed(desk)


# --- the source goes away -----------------------------------------------------------------------------


@scenario(
    "T10",
    f"the source's server ends the connections of the read, at its begin and when it is staged, {IN_EVERY_MODE}",
    holds=HEALED,
    long=True,
)
@pytest.mark.parametrize("running", MODES)
@pytest.mark.parametrize("point", [Point.READING, Point.STAGED])
def test_a_terminated_backend(stand: OpenStand, running: str, point: Point) -> None:
    desk = stand(TABLES, *MAKE)
    prepare(desk, running)
    terminate = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'reader' AND datname = current_database()"

    reports = struck(desk, running, once(point, "orders", lambda: desk.execute(terminate)))

    # The others may have been reading at that moment too; whoever failed says so in a sentence.
    for report in reports.values():
        assert report.status in (Status.LANDED, Status.FAILED), report
        if report.error:
            assert_told(report)
    assert point is not Point.READING or reports["orders"].error
    assert_healed(desk)


@pytest.fixture
def own_postgres(tmp_path: Path) -> Iterator[EmbeddedPostgres]:
    """A server that may be pulled down without hurting the other tests."""
    server = EmbeddedPostgres(tmp_path / "own postgres", settings={"max_connections": "40"})
    server.start()
    yield server
    server.remove()


@scenario(
    "T10",
    f"the database is killed and started again (`pg_ctl restart -m immediate`) in the middle of the read, {IN_EVERY_MODE}",
    holds=HEALED,
    long=True,
)
@pytest.mark.parametrize("running", MODES)
def test_a_database_that_crashes(
    own_postgres: EmbeddedPostgres, tmp_path: Path, spark: SparkSession, running: str
) -> None:
    own_postgres.create_database("shop")
    shop = Shop.open(own_postgres, "shop", tmp_path, TABLES, options="unlisted: ignore")
    shop.execute(*MAKE)
    desk = Stand(shop, spark)
    prepare(desk, running)

    reports = struck(desk, running, once(Point.READING, "orders", lambda: own_postgres.restart("immediate")))  # type: ignore[arg-type, return-value]

    assert_told(reports["orders"])
    assert_healed(desk)


# --- the network --------------------------------------------------------------------------------------

QUICKLY = "options: {connect_timeout: 5s, socket_timeout: 3s, statement_timeout: 30s}"


@contextmanager
def behind_a_proxy(desk: Stand) -> Iterator[Proxy]:
    """The product now reaches its source through a proxy."""
    with proxy(desk.shop.postgres.port) as between:
        text = desk.shop.config.read_text()
        desk.shop.config.write_text(text.replace(f"port: {desk.shop.postgres.port}", f"port: {between.port}"))
        try:
            yield between
        finally:
            desk.shop.config.write_text(text)


@scenario(
    "T10",
    f"every connection to the source is cut after 0, 2,000, 20,000 and 200,000 bytes of rows, {IN_EVERY_MODE}",
    holds=HEALED,
    long=True,
)
@pytest.mark.parametrize("running", MODES)
@pytest.mark.parametrize("count", [0, 2_000, 20_000, 200_000])
def test_a_connection_that_is_cut(stand: OpenStand, running: str, count: int) -> None:
    desk = stand(TABLES, *MAKE, options=QUICKLY)
    prepare(desk, running)
    with behind_a_proxy(desk) as between:
        reports = struck(desk, running, once(Point.READING, "orders", lambda: between.cut_after(count)))
        # How far the tables had come at that moment differs; none may have ended otherwise than landed or told.
        for report in reports.values():
            assert report.status in (Status.LANDED, Status.FAILED), report
            if report.error:
                assert_told(report)
        between.heal()
        assert between.cuts or count == 200_000
        assert_healed(desk)


@scenario(
    "T10",
    f"every connection to the source goes silent after 20,000 bytes of rows and stays open, {IN_EVERY_MODE}",
    holds=f"the run ends by `socket_timeout`; {HEALED}",
    long=True,
)
@pytest.mark.parametrize("running", MODES)
def test_a_connection_that_goes_silent(stand: OpenStand, running: str) -> None:
    desk = stand(TABLES, *MAKE, options=QUICKLY)
    prepare(desk, running)
    with behind_a_proxy(desk) as between:
        reports = struck(desk, running, once(Point.READING, "orders", lambda: between.stall_after(20_000)))
        assert any(report.error for report in reports.values())
        for report in reports.values():
            if report.error:
                assert_told(report)
        between.heal()
        assert between.stalled
        assert_healed(desk)


# --- the disk -----------------------------------------------------------------------------------------


@contextmanager
def small_disk(folder: Path, megabytes: int) -> Iterator[None]:
    """A file system of its own at `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    if os.geteuid() != 0:
        pytest.skip("mounting a small disk needs root")
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(folder)],
        check=False,
        capture_output=True,
        text=True,
    )
    if mounted.returncode:
        pytest.skip(f"this machine mounts nothing: {mounted.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


@scenario(
    "T10",
    f"the lake's disk is full: while the batch is staged, and while the commit is written, {IN_EVERY_MODE}",
    holds=HEALED,
    long=True,
)
@pytest.mark.parametrize("running", MODES)
@pytest.mark.parametrize("point", [Point.ANNOUNCED, Point.BEFORE_COMMIT])
def test_a_full_disk(stand: OpenStand, running: str, point: Point) -> None:
    desk = stand(TABLES, *MAKE)
    with small_disk(desk.lake, 64):
        prepare(desk, running)
        ballast = desk.lake / "ballast"

        def fill() -> None:
            with ballast.open("wb", buffering=0) as sink:
                try:
                    while True:
                        sink.write(b"\0" * 65_536)
                except OSError:
                    return

        reports = struck(desk, running, once(point, "orders", fill))
        assert any(report.error for report in reports.values())
        for report in reports.values():
            if report.error:
                assert_told(report)
        ballast.unlink()
        assert_healed(desk)


# --- the lease ----------------------------------------------------------------------------------------


def expire(desk: Stand, table: str) -> None:
    """As if its owner had slept for longer than the lease lasts."""
    import sqlite3

    with sqlite3.connect(desk.shop.folder / "checkpoints.db", timeout=30) as connection:
        connection.execute(
            "UPDATE heartbeats SET expires_at = '2000-01-01 00:00:00.000' WHERE table_name = ?", (table,)
        )


@scenario(
    "T11",
    f"a run sleeps past its lease - in the read, before the commit, after it -, another run takes over and lands, and the first wakes; {IN_EVERY_MODE}",
    holds="the sleeper lands nothing more and says so; one more sync: all equal, nothing twice, nothing left over",
    long=True,
)
@pytest.mark.parametrize("running", MODES)
@pytest.mark.parametrize("point", [Point.LEASED, Point.READING, Point.STAGED, Point.BEFORE_COMMIT, Point.AFTER_COMMIT])
@pytest.mark.parametrize("table", ["orders", "visits"])
def test_a_run_that_sleeps_past_its_lease(stand: OpenStand, running: str, point: Point, table: str) -> None:
    desk = stand(TABLES, *MAKE)
    prepare(desk, running)
    other: dict[str, SyncReport] = {}

    def sleep() -> None:
        expire(desk, table)
        other.update(desk.land(table, mode=MODES[running], window=window(running)))

    reports = struck(desk, running, once(point, table, sleep))

    assert other[table].status in (Status.LANDED, Status.IDLE)
    assert_told(reports[table])
    for name in set(reports) - {table}:
        assert not reports[name].error
    desk.assert_equal(table)
    assert_healed(desk)


def test_the_points_are_passed_in_their_order(stand: OpenStand) -> None:
    """Else a fault above would strike nothing."""
    desk, passed = stand(TABLES, *MAKE), []
    desk.sync("orders", through=lambda ports: at_points(ports, lambda point, table: passed.append(point)))
    assert list(dict.fromkeys(passed)) == list(Point)
    assert replace(desk.reports[0], status=Status.LANDED) == desk.reports[0]
    assert set(NAMES) >= {"orders"}
