"""One server of objects for a worker's tests, each of which has a bucket of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from incremental_assets.adapters.lake_store import objects, patience
from incremental_assets.demo.postgres import EmbeddedPostgres
from tests.adapters.lake_store.bucket import QUICKLY, Relay, new_bucket, relaying, serving
from tests.adapters.lake_store.shop_in_store import SECRET, StoreStand, shop_in_store
from tests.shop import PASSWORD

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OpenStand = Callable[..., StoreStand]
"""Opens a shop with these tables, and options of its source, whose lake is in a bucket of its own behind the relay."""


@pytest.fixture(scope="session")
def object_server() -> Iterator[str]:
    with serving() as address:
        yield address


@pytest.fixture
def relay(object_server: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Relay]:
    """Between a store and its server; pauses are short."""
    monkeypatch.setattr(objects, "_FIRST_PAUSE_SECONDS", 0.001)
    monkeypatch.setattr(objects, "_RETRY", QUICKLY)
    monkeypatch.setattr(patience, "_LOOK_SECONDS", 0.0)
    monkeypatch.setattr(patience, "_WORK_SECONDS", 0.0)
    with relaying(object_server) as between:
        yield between


@pytest.fixture
def open_stand(
    postgres: EmbeddedPostgres,
    database: str,
    tmp_path: Path,
    spark: SparkSession,
    relay: Relay,
    monkeypatch: pytest.MonkeyPatch,
) -> OpenStand:
    for name, value in (("SHOP_PASSWORD", PASSWORD), ("LAKE_KEY", "tester"), ("LAKE_SECRET", SECRET)):
        monkeypatch.setenv(name, value)

    def one(tables: str, options: str = "") -> StoreStand:
        bucket = new_bucket(relay.server)
        return StoreStand(shop_in_store(postgres, database, tmp_path, relay.address, bucket, tables, options), spark)

    return one
