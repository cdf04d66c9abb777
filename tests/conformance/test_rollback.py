"""T42: a copy goes back to what an earlier run left, and the next sync goes on from there."""

from __future__ import annotations

import uuid

import pytest

from incremental_assets.core.errors import Busy, Refused, SelectionError
from incremental_assets.core.maintenance.rollback import roll_back
from incremental_assets.core.planning.report import Status
from tests.conformance.conftest import OpenStand
from tests.conformance.killing import killed
from tests.conformance.mart import ROLLBACK
from tests.conformance.planes import is_by_spark
from tests.conformance.points import Point
from tests.conformance.scenario import scenario
from tests.conformance.stand import Stand

ORDERS = "CREATE TABLE orders (id int PRIMARY KEY, note text, price numeric(8,2), updated_at timestamptz NOT NULL DEFAULT now())"
VISITS = "CREATE TABLE visits (who text, at timestamptz NOT NULL DEFAULT now())"
TABLES = """
- {table: public.orders, cursor: {column: updated_at, type: timestamp}, strategy: upsert}
- {table: public.visits, cursor: {column: at, type: timestamp}}
"""
FIRST = (
    "INSERT INTO orders SELECT n, 'first', n, '2024-01-01Z'::timestamptz + n * interval '1 min' FROM generate_series(1, 4000) n",
    "INSERT INTO visits SELECT 'guest ' || n, '2024-01-01Z'::timestamptz + n * interval '1 min' FROM generate_series(1, 2000) n",
)
SECOND = (
    "UPDATE orders SET note = 'second', updated_at = now() WHERE id % 7 = 0",
    "INSERT INTO orders SELECT n, 'new', n FROM generate_series(4001, 4100) n",
    "INSERT INTO orders VALUES (9000, 'bad', 'NaN')",
    "INSERT INTO visits SELECT 'late guest ' || n FROM generate_series(1, 100) n",
)


def twice(stand: OpenStand) -> tuple[Stand, str]:
    """Two syncs of an upsert and an append; the run of the first."""
    desk = stand(TABLES, ORDERS, VISITS, *FIRST)
    first = desk.land()["orders"].run_id
    desk.execute(*SECOND)
    desk.land()
    return desk, first


def back(desk: Stand, name: str, run_id: str) -> None:
    with desk.runtime() as runtime:
        roll_back(desk.spec(name), run_id, str(uuid.uuid4()), runtime.ports("shop"))


@scenario(
    "T42",
    "After a sync rows change, come, and one cannot land; all of it is synced, and both copies are rolled back to the first run, and synced again",
    holds="after the rollback they hold exactly the rows of then, in one commit each that writes no data file, and the quarantine is empty again; after the "
    "sync they equal the source, and nothing is there twice",
)
def test_a_copy_goes_back_and_forth(stand: OpenStand) -> None:
    desk = stand(TABLES, ORDERS, VISITS, *FIRST)
    first = desk.land()["orders"].run_id
    then = {name: (desk.copy(name), desk.settled_at(name)) for name in ("orders", "visits")}
    desk.execute(*SECOND)
    desk.land()
    assert len(desk.quarantined("orders")) == 1
    for name in ("orders", "visits"):
        files, versions = len(list(desk.shop.lake(name).glob("*.parquet"))), len(desk.versions(name))
        back(desk, name, first)
        assert (desk.copy(name), desk.settled_at(name)) == then[name]
        # Spark cannot name files of an earlier version again: it writes their rows once more.
        assert len(list(desk.shop.lake(name).glob("*.parquet"))) == files + is_by_spark()
        assert len(desk.versions(name)) == versions + 1
    assert desk.quarantined("orders") == []
    desk.assert_tidy("orders", "visits")
    desk.land()
    desk.assert_equal("orders", "SELECT * FROM orders WHERE id <> 9000")
    desk.assert_equal("visits")
    assert len(desk.quarantined("orders")) == 1
    assert {name: report.status for name, report in desk.land().items()} == dict.fromkeys(then, Status.IDLE)


@scenario(
    "T42",
    "A rollback to a run that nobody knows; while a sync holds the lease; to a version whose files were removed",
    holds="each is refused in a sentence, and the copy stays as it is",
)
def test_what_cannot_be_taken_back_is_refused(stand: OpenStand) -> None:
    desk, first = twice(stand)
    rows, versions = desk.copy("orders"), desk.versions("orders")
    with pytest.raises(SelectionError, match="no sync of this table by a run 'nobody' has landed"):
        back(desk, "orders", "nobody")
    with desk.runtime() as runtime, runtime.checkpoints.lease(desk.spec("orders").id, "a sync"), pytest.raises(Busy):
        back(desk, "orders", first)
    desk.spark.conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "false")
    # What is replaced is marked; only a rewrite leaves files behind that nothing names any more.
    desk.spark.sql(f"REORG TABLE delta.`{desk.shop.lake('orders')}` APPLY (PURGE)").collect()
    desk.spark.sql(f"VACUUM delta.`{desk.shop.lake('orders')}` RETAIN 0 HOURS").collect()
    desk.spark.conf.unset("spark.databricks.delta.retentionDurationCheck.enabled")
    with pytest.raises(Refused, match="can no longer be restored"):
        back(desk, "orders", first)
    assert desk.copy("orders") == rows
    assert len(desk.versions("orders")) >= len(versions)


@scenario(
    "T42",
    "kill -9 of the whole process at each step of a rollback: after the lease, the intent and the record that its commit may come, before and after that "
    "commit, after the quarantine, and after all of it",
    holds="one more sync: the table equals the source, the quarantine holds what cannot land once, nothing is left over",
    long=True,
)
@pytest.mark.parametrize(
    "point",
    [
        Point.LEASED,
        Point.ANNOUNCED,
        Point.RECORDED,
        Point.BEFORE_COMMIT,
        Point.AFTER_COMMIT,
        Point.CLEANED,
        Point.LANDED,
    ],
    ids=str,
)
def test_a_killed_rollback_is_finished_or_undone(stand: OpenStand, point: Point) -> None:
    desk, first = twice(stand)
    desk.shop.folder.joinpath("to_run").write_text(first)
    killed(desk, point, "orders", ROLLBACK)
    is_done = any("rolled back to" in event.detail or '"rollback"' in event.detail for event in desk.events("orders"))
    desk.land("orders")
    desk.assert_equal("orders", "SELECT * FROM orders WHERE id <> 9000")
    assert len(desk.quarantined("orders")) == 1
    desk.assert_tidy("orders")
    assert is_done == (point is Point.LANDED)
