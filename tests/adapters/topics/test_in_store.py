"""Topics whose lake is in a store: rows, offsets and the keys of deleted rows are kept there."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from incremental_assets.adapters.lake_store.opened import store_of
from incremental_assets.adapters.topics.tombstones import MOST_FILES, Tombstones
from incremental_assets.core.model.paths import table_path
from incremental_assets.core.model.table_id import TableId
from tests.adapters.lake_store.bucket import Relay, new_bucket, options
from tests.adapters.lake_store.shop_in_store import SECRET, rows_in
from tests.adapters.topics.broker import FakeTopic, envelope
from tests.adapters.topics.place import HEAD, Place, use
from tests.adapters.topics.tables import table, topic
from tests.fakes import Killed, Process

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ORDERS = """\
    topics:
      shop.orders: {topic: lab.shop.orders, format: debezium, columns: {id: bigint, customer: string}, key: [id]}
    tables:
      - {table: shop.orders}
"""
STORES = """\
lake: BUCKET/lake
stores:
  NAME: {endpoint: "http://ADDRESS", region: us-east-1, access_key_id: {env: LAKE_KEY}, secret_access_key: {env: LAKE_SECRET}}
"""


@dataclass
class StoredPlace(Place):
    """`bucket`: its address."""

    bucket: str = ""
    address: str = ""
    lake: str = field(init=False, default="")

    def __post_init__(self) -> None:
        self.lake = f"{self.bucket.replace('s3://', 's3a://')}/lake"
        stores = STORES.replace("BUCKET", self.bucket).replace("ADDRESS", self.address)
        self.configure(
            ORDERS, HEAD.replace("lake: ./lake\n", stores.replace("NAME", self.bucket.removeprefix("s3://")))
        )

    def rows(self, name: str = "orders") -> list[dict[str, Any]]:
        store = store_of(self.lake)
        assert store is not None
        return rows_in(store, table_path(self.lake, TableId("shop", "shop", name)), self.folder)


@pytest.fixture
def place(tmp_path: Path, spark: SparkSession, relay: Relay, monkeypatch: pytest.MonkeyPatch) -> StoredPlace:
    for name, value in (("LAKE_KEY", "tester"), ("LAKE_SECRET", SECRET)):
        monkeypatch.setenv(name, value)
    found = StoredPlace(tmp_path, spark, bucket=new_bucket(relay.server), address=relay.address)
    use(found.broker, monkeypatch)
    return found


def test_changes_land_there_and_what_a_connector_repeats_brings_no_row_back(place: StoredPlace) -> None:
    orders = place.broker.topics["lab.shop.orders"] = FakeTopic()
    orders.put({"id": 1}, envelope("c", {"id": 1, "customer": "ann"}, 10))
    orders.put({"id": 2}, envelope("c", {"id": 2, "customer": "bob"}, 20))
    place.sync()
    orders.put({"id": 2}, envelope("d", {"id": 2, "customer": None}, 30))
    orders.put({"id": 3}, b"not json")
    place.sync()
    orders.put({"id": 2}, envelope("c", {"id": 2, "customer": "bob"}, 20))
    orders.put({"id": 1}, envelope("u", {"id": 1, "customer": "ada"}, 40))
    place.sync()
    assert place.copy() == [{"id": 1, "customer": "ada"}]
    assert place.at().next == (6,)
    assert not (place.folder / "lake").exists()


@pytest.mark.acceptance
@pytest.mark.parametrize("step", range(1, 12))
def test_a_death_behind_any_step_loses_and_repeats_nothing(place: StoredPlace, step: int) -> None:
    orders = place.broker.topics["lab.shop.orders"] = FakeTopic()
    for number in range(1, 5):
        orders.put({"id": number}, envelope("c", {"id": number, "customer": "new"}, number))
    place.sync()
    orders.put({"id": 2}, envelope("d", {"id": 2, "customer": None}, 30))
    orders.put({"id": 3}, envelope("u", {"id": 3, "customer": "old"}, 40))
    try:
        place.sync(process=Process(step))
    except Killed:
        place.sync()
    assert place.copy() == [{"id": 1, "customer": "new"}, {"id": 3, "customer": "old"}, {"id": 4, "customer": "new"}]
    assert place.at().next == (6,)


def test_keys_of_deleted_rows_become_few_files_in_the_bucket(relay: Relay) -> None:
    from incremental_assets.adapters.lake_store.opened import configure

    bucket = new_bucket(relay.server)
    configure(bucket, lambda: options(relay.address))
    kept = Tombstones(f"{bucket}/gone", table(topic(id="bigint", key=("id",))))
    for key in range(MOST_FILES + 1):
        kept.add({(key,): 10 * key})
    store = store_of(bucket)
    assert store is not None
    assert len(store.list_from(f"{bucket}/gone")) == 1
    assert kept.places({(3,), (MOST_FILES,), (99,)}) == {(3,): 30, (MOST_FILES,): 10 * MOST_FILES}
