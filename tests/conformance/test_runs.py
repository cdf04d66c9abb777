"""T11: more than one run of a table, at once and in any order."""

from __future__ import annotations

from incremental_assets.core.model.window import Window
from incremental_assets.core.planning.plan import Mode
from incremental_assets.core.planning.report import Status, SyncReport
from tests.conformance.conftest import OpenStand
from tests.conformance.mart import MODES, Marts, assert_healed, expire, stamp, struck, window, working
from tests.conformance.points import Point, once
from tests.conformance.scenario import scenario

VISITS = "CREATE TABLE visits (who text, at timestamptz NOT NULL DEFAULT now())"


@scenario(
    "T11",
    "while a sync reads an append table, a second sync, a backfill and a full refresh of it are started",
    holds="each is told in one sentence who holds the table, and changes nothing; the first lands; nothing is there twice",
    long=True,
)
def test_a_second_run_of_a_table_is_told_who_holds_it(marts: Marts) -> None:
    others: list[SyncReport] = []
    with marts.running("incremental") as desk:

        def all_at_once() -> None:
            for running, mode in MODES.items():
                if "visits" in working(running):
                    others.append(desk.sync("visits", mode=mode, window=window(running))["visits"])

        landed = struck(desk, "incremental", once(Point.READING, "visits", all_at_once))["visits"]

        assert [report.status for report in others] == [Status.BUSY] * len(MODES)
        assert "another run is syncing this table" in (others[0].error or "")
        assert landed.status is Status.LANDED
        assert_healed(desk)


@scenario(
    "T11",
    "a run has staged its batch and sleeps past its lease; another one takes over, lands and goes on; the first wakes and commits (an append table)",
    holds="its commit is a no-op, it says that it lost its lease, and nothing is there twice",
)
def test_a_sleeper_that_wakes_before_its_commit(marts: Marts) -> None:
    table = "visits"
    with marts.running("incremental") as desk:

        def sleep() -> None:
            expire(desk, table)
            desk.land(table)

        slept = struck(desk, "incremental", once(Point.BEFORE_COMMIT, table, sleep))[table]

        assert slept.status is Status.FAILED
        desk.assert_equal(table)
        assert_healed(desk)


@scenario(
    "T11",
    "today's partition of an append table is backfilled just before its sync, and again just after",
    holds="rows that both have read are there once",
)
def test_a_backfill_of_today_just_before_a_sync(stand: OpenStand) -> None:
    desk = stand('- "public.visits:at:timestamp!append"', VISITS, "INSERT INTO visits VALUES ('ann'), ('ann'), ('bob')")
    desk.land()
    desk.execute("INSERT INTO visits VALUES ('cyd'), ('cyd')")
    today = Window(stamp("2024-01-01T00:00:00Z"), None)
    first = desk.land(mode=Mode.BACKFILL, window=today)["visits"].rows
    second = desk.land()["visits"].rows
    desk.execute("INSERT INTO visits VALUES ('dan')")
    third = desk.land(mode=Mode.BACKFILL, window=today)["visits"].rows
    fourth = desk.land()["visits"].rows

    assert [rows.inserted for rows in (first, second, third, fourth)] == [2, 0, 1, 0]
    desk.assert_equal("visits")
    desk.assert_tidy("visits")
