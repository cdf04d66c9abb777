"""A lake in a store, from its first load on: what lands, lands by commits of our own, once, whatever the store answers and whoever dies."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from incremental_assets.demo.postgres import EmbeddedPostgres
from tests.adapters.lake_store.bucket import Relay
from tests.adapters.lake_store.shop_in_store import SECRET, StoreStand, shop_in_store
from tests.shop import MAKE_THREE, PASSWORD

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TABLES = """
- {table: public.orders, cursor: {column: updated_at, type: timestamp}, strategy: upsert, deletes: {mode: diff, every: 0s, max_fraction: 0.9}, history: scd2}
- "public.events:id:integer"
- {table: public.prices, strategy: full_refresh, refresh_every: 1s}
"""


@pytest.fixture
def stand(
    postgres: EmbeddedPostgres,
    database: str,
    tmp_path: Path,
    spark: SparkSession,
    relay: Relay,
    monkeypatch: pytest.MonkeyPatch,
) -> StoreStand:
    for name, value in (("SHOP_PASSWORD", PASSWORD), ("LAKE_KEY", "tester"), ("LAKE_SECRET", SECRET)):
        monkeypatch.setenv(name, value)
    stand = StoreStand(shop_in_store(postgres, database, tmp_path, relay, TABLES), spark)
    stand.execute(*MAKE_THREE)
    return stand


def test_all_strategies_land_and_follow(stand: StoreStand) -> None:
    stand.land()
    for name in ("orders", "prices"):
        stand.assert_equal(name)
    stand.execute(
        "UPDATE orders SET note = 'second' WHERE id % 7 = 0",
        "DELETE FROM orders WHERE id % 50 = 0",
        "INSERT INTO orders (id, note) VALUES (1001, 'new')",
        "INSERT INTO events (what) SELECT 'then ' || n FROM generate_series(1, 40) n",
        "UPDATE prices SET price = price + 1",
    )
    stand.land()
    for name in ("orders", "prices"):
        stand.assert_equal(name)
    stand.settled("events")
    stand.land()
    stand.assert_equal("events")
