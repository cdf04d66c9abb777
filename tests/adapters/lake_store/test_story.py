"""A lake in a store, from its first load on: what lands, lands by commits of our own, once, whatever the store answers and whoever dies."""

from __future__ import annotations

import uuid
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from incremental_assets.adapters.delta.history import by_tasks
from incremental_assets.core.maintenance.rollback import roll_back
from incremental_assets.core.model.paths import table_path
from incremental_assets.core.planning.plan import Mode
from incremental_assets.core.planning.report import Status
from tests.adapters.lake_store.bucket import Relay
from tests.adapters.lake_store.conftest import OpenStand
from tests.adapters.lake_store.shop_in_store import StoreStand
from tests.conformance.points import Point, at_points, once
from tests.shop import MAKE_THREE

if TYPE_CHECKING:
    pass

TABLES = """
- {table: public.orders, cursor: {column: updated_at, type: timestamp}, strategy: upsert, deletes: {mode: diff, every: 0s, max_fraction: 0.9}, history: scd2}
- "public.events:id:integer"
- {table: public.prices, strategy: full_refresh, refresh_every: 1s}
"""


@pytest.fixture
def stand(open_stand: OpenStand) -> StoreStand:
    stand = open_stand(TABLES)
    stand.execute(*MAKE_THREE)
    return stand


CHANGES = (
    "UPDATE orders SET note = 'second' WHERE id % 7 = 0",
    "DELETE FROM orders WHERE id % 50 = 0",
    "INSERT INTO orders (id, note) VALUES (1001, 'new')",
    "INSERT INTO events (what) SELECT 'then ' || n FROM generate_series(1, 40) n",
    "UPDATE prices SET price = price + 1",
)


class Died(BaseException):
    """The run is gone, and leaves what it has done so far."""


def die() -> None:
    raise Died


def test_first_load_tick_deletes_history_and_a_new_column(stand: StoreStand) -> None:
    stand.land()
    stand.execute(*CHANGES)
    stand.land()
    stand.settled("events")
    stand.land()
    for name in ("orders", "events", "prices"):
        stand.assert_equal(name)
    of_seven = stand.history("orders", "note", "_is_current", "_sync_deleted")
    assert (len(of_seven), of_seven.count(("second", True, False))) == (500 + 71 + 1 + 10 - 1, 70)
    assert all(stand.staged(name) == [] for name in ("orders", "events", "prices"))
    stand.execute(
        "ALTER TABLE events ADD COLUMN more numeric(9, 2)",
        "INSERT INTO events (what, more) SELECT 'with more', n FROM generate_series(1, 5) n",
    )
    stand.land("events")
    stand.settled("events")
    stand.land("events")
    stand.assert_equal("events")


@pytest.mark.acceptance
@pytest.mark.parametrize("point", [Point.STAGED, Point.BEFORE_COMMIT, Point.AFTER_COMMIT, Point.LANDED], ids=str)
def test_a_run_that_dies_is_made_good_by_the_next_once(stand: StoreStand, point: Point) -> None:
    stand.land("orders")
    stand.execute(*CHANGES)
    with pytest.raises(Died):
        stand.sync("orders", through=lambda ports: at_points(ports, once(point, "orders", die)))
    stand.land("orders")
    stand.assert_equal("orders")
    assert stand.staged("orders") == []
    assert len(stand.history("orders")) == 581


@pytest.mark.acceptance
@pytest.mark.parametrize("fault", ["500 after", "cut after", "409", "503"])
def test_whatever_a_commit_is_answered_it_lands_once(stand: StoreStand, relay: Relay, fault: str) -> None:
    stand.land("orders")
    stand.execute(*CHANGES)
    relay.within, relay.faults = "_delta_log/0", {"PUT": [fault] * 3}
    stand.land("orders")
    stand.assert_equal("orders")
    assert len(stand.history("orders")) == 581


@pytest.mark.acceptance
def test_rows_that_landed_get_the_values_of_a_new_column_and_their_history_a_version_with_them(
    stand: StoreStand,
) -> None:
    stand.land("orders")
    stand.execute(
        "ALTER TABLE orders ADD COLUMN more text DEFAULT 'of all'", "UPDATE orders SET note = 'n' WHERE id = 5"
    )
    told = stand.sync("orders")["orders"]
    assert (told.error, told.unfilled) == (None, ())
    assert {more for _, more in stand.copy("orders", "id", "more")} == {"of all"}
    stand.assert_equal("orders")
    now = [more for more, is_current in stand.history("orders", "more", "_is_current") if is_current]
    assert now == ["of all"] * 500


@pytest.mark.acceptance
def test_after_a_full_refresh_a_history_has_what_has_changed_since(
    stand: StoreStand, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Here a task compares what fits into it: what is large is Spark's on a disk alone.
    monkeypatch.setattr(by_tasks, "MOST_BYTES", 0)
    stand.land("orders")
    stand.execute(
        "ALTER TABLE orders DISABLE TRIGGER USER",
        "UPDATE orders SET note = 'drifted' WHERE id < 4",
        "DELETE FROM orders WHERE id > 490",
    )
    whole = stand.land("orders", mode=Mode.FULL_REFRESH)["orders"]
    assert whole.history is not None
    assert (whole.history.added, whole.history.deleted, whole.history.ended) == (3, 10, 13)
    stand.assert_equal("orders")
    now = stand.history("orders", "id", "note", "_is_current", "_sync_deleted")
    assert [each for each in now if each[1] == "drifted"] == [(n, "drifted", True, False) for n in (1, 2, 3)]
    assert len([each for each in now if each[3]]) == 10
    assert len([each for each in now if each[2]]) == 490
    assert stand.sync("orders")["orders"].history is None


@pytest.mark.acceptance
def test_a_copy_that_was_taken_back_has_its_history_taken_back_too(stand: StoreStand) -> None:
    first = stand.land("orders")["orders"].run_id
    before = stand.history("orders", "id", "note", "_is_current")
    stand.execute(*CHANGES)
    stand.land("orders")
    with stand.runtime() as runtime:
        roll_back(stand.spec("orders"), first, str(uuid.uuid4()), runtime.ports("shop"))
    assert stand.history("orders", "id", "note", "_is_current") == before
    stand.land("orders")
    stand.assert_equal("orders")
    assert len([each for each in stand.history("orders", "_is_current") if each[0]]) == 491


@pytest.mark.acceptance
def test_of_two_runs_at_once_each_row_lands_once(stand: StoreStand) -> None:
    stand.land("events")
    stand.execute(*CHANGES)
    with ThreadPoolExecutor(2) as pool:
        told = [each.result()["events"] for each in [pool.submit(stand.sync, "events") for _ in range(2)]]
    assert any(report.error is None for report in told)
    stand.settled("events")
    stand.land("events")
    stand.assert_equal("events")


@pytest.mark.acceptance
def test_what_drifts_is_found_and_repaired(stand: StoreStand) -> None:
    stand.execute("UPDATE orders SET updated_at = now() - interval '1 day'")
    stand.shop.configure(TABLES.replace(", history: scd2", ""))
    stand.land("orders")
    stand.execute("ALTER TABLE orders DISABLE TRIGGER USER", "UPDATE orders SET note = 'drifted' WHERE id < 4")
    assert stand.check("orders") > 0
    stand.repair("orders")
    stand.assert_equal("orders")
    assert stand.check("orders") == 0


@pytest.mark.acceptance
def test_a_data_file_that_a_lifecycle_rule_has_removed_is_named_with_its_cure(stand: StoreStand) -> None:
    stand.land("orders")
    stand.execute(*CHANGES)
    copy = table_path(stand.shop.in_store, stand.spec("orders").id)
    for name in stand.store.list_from(copy):
        if name.endswith(".parquet"):
            stand.store.delete(f"{copy}/{name}")
    said = stand.sync("orders")["orders"].error or ""
    assert said.startswith("shop.public.orders: a file of the copy is gone (s3a://")
    assert "restore it from a backup, or read everything again with" in said


@pytest.mark.acceptance
def test_a_staged_file_that_is_gone_when_it_is_read_ends_the_run_by_name(stand: StoreStand, relay: Relay) -> None:
    stand.land("orders")
    stand.execute(*CHANGES)
    relay.within, relay.faults = "/_staging/shop/public/orders/", {"GET": ["404"] * 50}
    said = stand.sync("orders")["orders"].error or ""
    assert "lost its lease" in said
    relay.faults = {}
    stand.land("orders")
    stand.assert_equal("orders")


@pytest.mark.acceptance
def test_an_append_whose_rows_have_come_once_is_compared_where_spark_cannot_read(stand: StoreStand) -> None:
    stand.settled("events")
    assert stand.check("events") == 0
    stand.execute("INSERT INTO events (what) VALUES ('second')")
    stand.settled("events")
    assert stand.check("events") == 0


def test_a_look_and_a_tick_cost_a_known_number_of_requests(stand: StoreStand, relay: Relay) -> None:
    stand.land("events")
    stand.settled("events")
    stand.execute("INSERT INTO events (what) VALUES ('second')")
    stand.settled("events")
    relay.asked.clear()
    assert stand.sync("events")["events"].status is Status.IDLE
    idle = Counter(each.partition(" ")[0] for each in relay.asked)
    stand.execute("INSERT INTO events (what) VALUES ('third')")
    relay.asked.clear()
    stand.land("events")
    tick = Counter(each.partition(" ")[0] for each in relay.asked)
    assert idle == {"GET": 2}
    # Of these, four find out whether the store minds the condition: once in a process.
    assert tick["PUT"] == len(["a file of the batch", "its manifest", "a data file", "the commit"]) + 2
    assert tick.total() <= 34, tick
