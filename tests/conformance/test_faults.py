"""T10, T11: everything else that can break while a sync runs, brought about from outside or raised at a named point."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from incremental_assets.core.planning.report import Status, SyncReport
from incremental_assets.demo.postgres import EmbeddedPostgres
from tests.conformance.mart import CHANGE, MODES, Marts, assert_healed, expire, moments, struck, window
from tests.conformance.meddling import assert_told
from tests.conformance.points import Point, at_points, once
from tests.conformance.proxy import behind_a_proxy
from tests.conformance.scenario import scenario
from tests.disks import fill, small_disk

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HEALED = "the table fails in one sentence, the others land; one more sync: all equal, nothing twice, nothing left over"
ALWAYS = "during a first load, an incremental sync, a backfill and a full refresh"
SHORT = "incremental"
"""The kind of run that `make test` strikes too."""


def test_every_sync_passes_the_points_in_their_order(marts: Marts) -> None:
    """Else a fault at a point would strike nothing."""
    passed: list[Point] = []
    with marts.running(SHORT) as desk:
        desk.land("orders", through=lambda ports: at_points(ports, lambda point, table: passed.append(point)))
        assert passed == list(Point)
        assert_healed(desk)


# --- an error of this program's own, or of a library --------------------------------------------------


@scenario(
    "T10",
    f"an unforeseen error is raised at each of nine points of an incremental sync, and at two of them {ALWAYS}",
    holds=HEALED,
    long=True,
)
@pytest.mark.parametrize(
    ("running", "point", "table"), moments({"incremental": tuple(Point)}, (Point.RECORDED, Point.AFTER_COMMIT)), ids=str
)
def test_an_error_nobody_foresaw(marts: Marts, running: str, point: Point, table: str) -> None:
    def raise_it() -> None:
        raise ZeroDivisionError("a fault in somebody's library")

    with marts.running(running) as desk:
        reports = struck(desk, running, once(point, table, raise_it), expected_full_reads=False)

        assert_told(
            reports[table], "unexpected ZeroDivisionError: a fault in somebody's library", expected_full_reads=False
        )
        assert {name for name, report in reports.items() if report.error} == {table}
        assert_healed(desk)


# --- the source goes away -----------------------------------------------------------------------------

TERMINATE = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'reader' AND datname = current_database()"
)


@scenario(
    "T10",
    f"the database ends the connections of the read, {ALWAYS}, and when the batch is staged",
    holds=HEALED,
    long=True,
)
@pytest.mark.parametrize(
    ("running", "point"), [*((kind, Point.READING) for kind in MODES), (SHORT, Point.STAGED)], ids=str
)
def test_a_terminated_backend(marts: Marts, running: str, point: Point) -> None:
    with marts.running(running) as desk:
        reports = struck(desk, running, once(point, "orders", lambda: desk.execute(TERMINATE)))
        assert reports["orders"].error or point is Point.STAGED
        assert_healed(desk)


@pytest.fixture(scope="module")
def own_marts(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Marts]:
    """On a server that may be pulled down without hurting other tests."""
    server = EmbeddedPostgres(tmp_path_factory.mktemp("own") / "server", settings={"max_connections": "40"})
    server.start()
    yield Marts(server, spark, lambda: tmp_path_factory.mktemp("own mart"))
    server.remove()


@scenario(
    "T10",
    f"the database is pulled down and started again (`pg_ctl restart -m immediate`) in the middle of the read, {ALWAYS}",
    holds=HEALED,
    long=True,
)
@pytest.mark.parametrize("running", MODES)
def test_a_database_that_crashes(own_marts: Marts, running: str) -> None:
    with own_marts.running(running) as desk:
        reports = struck(desk, running, once(Point.READING, "orders", lambda: crash(own_marts)))
        assert reports["orders"].error
        assert_healed(desk)


def crash(marts: Marts) -> None:
    marts.postgres.restart("immediate")


# --- the network --------------------------------------------------------------------------------------


@scenario(
    "T10",
    f"every connection to the database is cut after 20,000 bytes of rows, {ALWAYS}, and before the first one",
    holds=HEALED,
    bugs=("dlt #2837",),
    long=True,
)
@pytest.mark.parametrize(("running", "count"), [*((kind, 20_000) for kind in MODES), (SHORT, 0)])
def test_a_connection_that_is_cut(marts: Marts, running: str, count: int) -> None:
    with marts.running(running) as desk, behind_a_proxy(desk) as between:
        struck(desk, running, once(Point.READING, "orders", lambda: between.cut_after(count)))
        assert between.cuts
        between.heal()
        assert_healed(desk)


@scenario(
    "T10",
    f"every connection to the database goes silent after 20,000 bytes of rows and stays open, {ALWAYS}",
    holds=f"`socket_timeout` ends the run; {HEALED}",
    long=True,
)
@pytest.mark.parametrize("running", MODES)
def test_a_connection_that_goes_silent(marts: Marts, running: str) -> None:
    with marts.running(running) as desk, behind_a_proxy(desk) as between:
        reports = struck(desk, running, once(Point.READING, "orders", lambda: between.stall_after(20_000)))
        assert between.stalled
        assert any(report.error for report in reports.values())
        between.heal()
        assert_healed(desk)


# --- the disk -----------------------------------------------------------------------------------------


@scenario(
    "T10",
    f"the lake's disk is full when the batch is staged, {ALWAYS}, and when the commit is written",
    holds=HEALED,
    long=True,
)
@pytest.mark.parametrize(
    ("running", "point"), [*((kind, Point.ANNOUNCED) for kind in MODES), (SHORT, Point.BEFORE_COMMIT)]
)
def test_a_full_disk(marts: Marts, running: str, point: Point) -> None:
    desk = marts.open()
    with small_disk(desk.lake, 64):
        if running != "first load":
            desk.land()
            desk.execute(*CHANGE)
        ballast = desk.lake / "ballast"
        reports = struck(desk, running, once(point, "orders", lambda: fill(ballast)))
        assert any(report.error for report in reports.values())
        ballast.unlink()
        assert_healed(desk)


# --- the lease ----------------------------------------------------------------------------------------


ASLEEP = (Point.LEASED, Point.READING, Point.STAGED, Point.BEFORE_COMMIT, Point.AFTER_COMMIT)


@scenario(
    "T11",
    f"a run sleeps past its lease: at its begin, in the read, before the commit or after it; another takes over and lands; the first wakes; {ALWAYS}",
    holds="the sleeper says that it lost its lease or that its commit was fenced; one more sync: all equal, nothing twice, nothing left over",
    long=True,
)
@pytest.mark.parametrize(
    ("running", "point", "table"),
    moments({SHORT: ASLEEP}, (Point.READING, Point.BEFORE_COMMIT, Point.AFTER_COMMIT)),
    ids=str,
)
def test_a_run_that_sleeps_past_its_lease(marts: Marts, running: str, point: Point, table: str) -> None:
    other: dict[str, SyncReport] = {}
    with marts.running(running) as desk:

        def sleep() -> None:
            expire(desk, table)
            other.update(desk.land(table, mode=MODES[running], window=window(running)))

        reports = struck(desk, running, once(point, table, sleep))

        assert other[table].status in (Status.LANDED, Status.IDLE)
        assert_told(reports[table])
        assert_healed(desk)
