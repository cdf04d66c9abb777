"""A lake in a store whose tables are read from the source's log: what was read of it is kept on a disk of this machine until all have landed it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from incremental_assets.core.planning.plan import Mode
from incremental_assets.demo.postgres import EmbeddedPostgres
from tests.adapters.lake_store.bucket import Relay, new_bucket
from tests.adapters.lake_store.shop_in_store import SECRET, StoreStand, shop_in_store
from tests.adapters.logs.opening import log_database
from tests.conformance.points import Point, at_points, once
from tests.shop import PASSWORD

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TABLES = """
- {table: public.orders, capture: log, history: scd2}
- {table: public.events, capture: log, strategy: append}
"""


@pytest.fixture
def stand(
    logged: EmbeddedPostgres, tmp_path: Path, spark: SparkSession, relay: Relay, monkeypatch: pytest.MonkeyPatch
) -> Iterator[StoreStand]:
    for name, value in (("SHOP_PASSWORD", PASSWORD), ("LAKE_KEY", "tester"), ("LAKE_SECRET", SECRET)):
        monkeypatch.setenv(name, value)
    with log_database(logged) as name:
        yield opened(logged, name, tmp_path, spark, relay, new_bucket(relay.server))


def opened(
    logged: EmbeddedPostgres, database: str, folder: Path, spark: SparkSession, relay: Relay, bucket: str
) -> StoreStand:
    slot = f"in_store_{database}"
    options = f"unlisted: ignore\nlog: {{slot: {slot}, publication: shop, folder: ./kept}}"
    stand = StoreStand(shop_in_store(logged, database, folder, relay.address, bucket, TABLES, options), spark)
    stand.execute(
        "ALTER ROLE reader REPLICATION",
        "CREATE TABLE orders (id int PRIMARY KEY, status text, note text)",
        "CREATE TABLE events (id int PRIMARY KEY, what text)",
        "CREATE PUBLICATION shop FOR TABLE orders, events",
        f"SELECT pg_create_logical_replication_slot('{slot}', 'pgoutput')",
        "INSERT INTO orders SELECT n, 'new', 'first' FROM generate_series(1, 50) AS n",
        "INSERT INTO events SELECT n, 'was' FROM generate_series(1, 5) AS n",
    )
    return stand


CHANGES = (
    "UPDATE orders SET status = 'paid' WHERE id <= 3",
    "DELETE FROM orders WHERE id = 4",
    "INSERT INTO orders VALUES (51, 'new', NULL)",
    "UPDATE events SET what = 'is' WHERE id = 1",
    "DELETE FROM events WHERE id = 2",
)


class Died(BaseException):
    """The run is gone, and leaves what it has done so far."""


def die() -> None:
    raise Died


def test_every_change_lands_in_the_store_with_its_version_and_segments_stay_on_the_disk(stand: StoreStand) -> None:
    stand.land()
    stand.execute(*CHANGES)
    stand.land()
    stand.assert_equal("orders")
    of_three = [row for row in stand.history("orders", "id", "status", "_is_current") if row[0] == 3]
    assert of_three == [(3, "new", False), (3, "paid", True)]
    told = sorted(stand.copy("events", "_commit_lsn", "_change_number", "_op", "id", "what"))
    assert [row[2:] for row in told if row[2] != "r"] == [("u", 1, "is"), ("d", 2, None)]
    assert [*(stand.shop.folder / "kept" / "shop" / "segments").glob("*/manifest.json")] != []
    assert [name for name in stand.store.list_from(stand.shop.in_store) if name == "_log"] == []


@pytest.mark.acceptance
@pytest.mark.parametrize("point", [Point.STAGED, Point.BEFORE_COMMIT, Point.AFTER_COMMIT, Point.LANDED], ids=str)
def test_a_run_that_dies_is_made_good_by_the_next_once(stand: StoreStand, point: Point) -> None:
    stand.land()
    stand.execute(*CHANGES)
    with pytest.raises(Died):
        stand.sync("orders", through=lambda ports: at_points(ports, once(point, "orders", die)))
    stand.land()
    stand.assert_equal("orders")
    first, updated, inserted, gone = 50, 3, 1, 1
    assert len(stand.history("orders")) == first + updated + inserted + gone


@pytest.mark.acceptance
def test_a_disk_that_is_another_stops_the_tables_by_name_until_they_are_loaded_again(stand: StoreStand) -> None:
    stand.land()
    stand.execute(*CHANGES)
    stand.land()
    shutil.rmtree(stand.shop.folder / "kept")
    stand.execute("UPDATE orders SET status = 'sent' WHERE id = 7")
    told = str(stand.sync("orders")["orders"].error)
    assert "has no record of it, so that changes which were read of the log may be missing there" in told
    stand.sync("orders", mode=Mode.FULL_REFRESH)
    stand.assert_equal("orders")
