"""T43: the versions of a table's rows, beside its copy: what was so at a moment, whatever happened to the runs that wrote it down."""

from __future__ import annotations

import shutil
from typing import Any

import pytest

from incremental_assets.core.model.cursor import CursorValue
from incremental_assets.core.model.history import FaultyKeys
from incremental_assets.core.model.window import Window
from incremental_assets.core.planning.plan import Mode
from incremental_assets.core.planning.report import Status
from tests.conformance.conftest import OpenStand
from tests.conformance.killing import killed
from tests.conformance.mart import expire
from tests.conformance.points import Beside, Place, Point, at_points, once
from tests.conformance.scenario import scenario
from tests.conformance.stand import Stand, plain

TABLE = "orders"
ORDERS = "CREATE TABLE orders (id int PRIMARY KEY, note text, price double precision, updated_at timestamptz NOT NULL DEFAULT now())"
MANY = "INSERT INTO orders SELECT n, 'first', n / 7.0, '2024-01-01Z'::timestamptz + n * interval '1 min' FROM generate_series(1, 5000) n"
KEPT = (
    "- {table: public.orders, cursor: {column: updated_at, type: timestamp}, strategy: upsert, "
    "deletes: {mode: diff, every: 0s, max_fraction: 0.9}, history: scd2}"
)
CHANGE = (
    "UPDATE orders SET note = note || '+', updated_at = now() WHERE id % 100 = 3",
    "DELETE FROM orders WHERE id % 1000 = 7",
    "INSERT INTO orders SELECT top + n, 'new' FROM (SELECT max(id) AS top FROM orders) t, generate_series(1, 5) n",
)


class Chronicler:
    """Looks at the source after each sync, and asks the history afterwards what it knows of that moment."""

    def __init__(self, desk: Stand) -> None:
        self.desk = desk
        self.looks: list[tuple[Any, list[tuple[Any, ...]]]] = []

    def land(self, **options: Any) -> None:
        self.desk.land(**options)
        ((moment,),) = self.desk.source("SELECT clock_timestamp()")
        self.looks.append((moment, self.desk.source("SELECT * FROM orders")))

    def assert_told(self) -> None:
        """As of each moment the rows that the source had then; of now those of the copy; and no two versions at one time."""
        for number, (moment, rows) in enumerate(self.looks):
            assert as_of(self.desk, moment) == rows, f"as of the look {number}"
        assert_sound(self.desk)


def as_of(desk: Stand, moment: Any) -> list[tuple[Any, ...]]:
    then = f"TIMESTAMP '{moment}+00:00'"
    valid = f"_valid_from <= {then} AND (_valid_to > {then} OR _valid_to IS NULL) AND NOT _sync_deleted"
    versions = desk.spark.read.format("delta").load(str(desk.shop.lake("orders__history")))
    rows = versions.where(valid).select("id", "note", "price", "updated_at").collect()
    return sorted((tuple(plain(value) for value in row) for row in rows), key=repr)


def assert_sound(desk: Stand) -> None:
    with desk.runtime() as runtime:
        spec, lake = desk.spec(TABLE), runtime.ports("shop").historian
        assert lake.behind(spec) is None
        assert lake.differing_versions(spec) == FaultyKeys(0)
        assert lake.overlapping_versions(spec) == FaultyKeys(0)
    desk.assert_equal(TABLE)
    desk.assert_tidy(TABLE)


@scenario(
    "T43",
    "Rows change, go, come back and come new over several syncs; a backfill and a reset read them again; a full refresh replaces the copy",
    holds="the history tells of the moment after each sync exactly the rows that the source had then, and of now those of the copy; "
    "no two versions of a key overlap; rows that were only read again have no new version",
)
def test_the_history_tells_what_was_so_at_each_moment(stand: OpenStand) -> None:
    desk = stand(KEPT, ORDERS, MANY)
    told = Chronicler(desk)
    told.land()
    desk.execute(*CHANGE)
    told.land()
    desk.execute("INSERT INTO orders VALUES (7, 'again')", *CHANGE[:1])
    told.land()
    before = len(desk.copy("orders__history"))
    kind = desk.settled(TABLE).type
    january = Window(CursorValue.parse(kind, "2024-01-01T00:00:00Z"), CursorValue.parse(kind, "2024-02-01T00:00:00Z"))
    told.land(mode=Mode.BACKFILL, window=january)
    desk.reset(TABLE)
    told.land()
    told.land(mode=Mode.FULL_REFRESH)
    assert len(desk.copy("orders__history")) == before
    desk.execute("UPDATE orders SET note = 'silent', price = '-0' WHERE id = 11")
    told.land(mode=Mode.FULL_REFRESH)
    told.assert_told()


@scenario(
    "T43",
    "A transaction that began first writes a row last, so that its newest version has the older stamp; rows share a stamp; one is stamped in the year 2999",
    holds="the newest version is the one that the source has; versions of a key neither overlap nor are empty",
)
def test_stamps_that_go_back_make_no_version_overlap(stand: OpenStand) -> None:
    desk = stand(KEPT, ORDERS, MANY)
    told = Chronicler(desk)
    told.land()
    first = desk.shop.connect()
    first.autocommit = False
    first.execute("SELECT now()")
    desk.execute("UPDATE orders SET note = 'second', updated_at = now() WHERE id = 5")
    told.land()
    first.execute("UPDATE orders SET note = 'first, late', updated_at = now() WHERE id = 5")
    first.commit()
    first.close()
    desk.execute(
        "UPDATE orders SET note = 'same stamp' WHERE id = 6",
        "UPDATE orders SET updated_at = '2999-01-01Z' WHERE id = 8",
    )
    kind = desk.settled(TABLE).type
    told.land(mode=Mode.BACKFILL, window=Window(CursorValue.parse(kind, "2024-01-01T00:00:00Z"), None))
    desk.execute("UPDATE orders SET note = 'after 2999', updated_at = now() WHERE id = 8")
    told.land()
    told.assert_told()


@scenario(
    "T43",
    "kill -9 of a sync of a table with a history: before and after the commit of the copy, before and after that of the history, and when its staged batch is removed",
    holds="one more sync completes what is missing, before it reads: the history tells of each moment what the source had then; nothing is left over",
    long=True,
)
@pytest.mark.parametrize(
    "point", [Point.BEFORE_COMMIT, Point.AFTER_COMMIT, Beside.BEGUN, Beside.DONE, Point.CLEANED], ids=str
)
def test_a_killed_sync_is_made_good_on_both_sides(stand: OpenStand, point: Place) -> None:
    desk = stand(KEPT, ORDERS, MANY)
    told = Chronicler(desk)
    told.land()
    desk.execute(*CHANGE)
    killed(desk, point, TABLE, "incremental")
    if point is not Point.BEFORE_COMMIT:
        # What that run saw is known, though it could not say so.
        ((moment,),) = desk.source("SELECT clock_timestamp()")
        told.looks.append((moment, desk.source("SELECT * FROM orders")))
    desk.execute(*CHANGE)
    told.land()
    told.assert_told()


@scenario(
    "T43",
    "kill -9 of the first load of a table with a history, and of the run after the history was moved away: before the commit with which it begins, "
    "while its files are written, and after it",
    holds="one more sync begins it, or finds it begun: it has each row of the copy once, and tells from then on of each moment what the source had then",
    long=True,
)
@pytest.mark.parametrize("point", [*Beside], ids=str)
@pytest.mark.parametrize("running", ["first load", "incremental"])
def test_a_sync_that_is_killed_as_a_history_begins(stand: OpenStand, point: Place, running: str) -> None:
    desk = stand(KEPT, ORDERS, MANY)
    told = Chronicler(desk)
    if running == "incremental":
        desk.land()
        shutil.rmtree(desk.shop.lake("orders__history"))
        desk.execute(*CHANGE)
    killed(desk, point, TABLE, running)
    told.land()
    desk.execute(*CHANGE)
    told.land()
    told.assert_told()


@scenario(
    "T43",
    "A run has made the commit of its copy, and sleeps past its lease before that of the history; another one takes over, completes it, lands and goes on; the first wakes",
    holds="its commit has no effect, it says that it lost its lease, and each version is there once",
)
def test_a_sleeper_that_wakes_before_the_commit_of_the_history(stand: OpenStand) -> None:
    desk = stand(KEPT, ORDERS, MANY)
    told = Chronicler(desk)
    told.land()
    desk.execute(*CHANGE)

    def sleep() -> None:
        expire(desk, TABLE)
        desk.execute(*CHANGE)
        told.land()

    slept = desk.sync(through=lambda ports: at_points(ports, once(Beside.BEGUN, TABLE, sleep)))[TABLE]
    assert slept.status is Status.FAILED
    desk.execute(*CHANGE)
    told.land()
    told.assert_told()
