"""Files whose lake is in a store: rows, and the ledger of what has landed, are kept there."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from incremental_assets.adapters.lake_store.opened import store_of
from incremental_assets.core.model.paths import files_path, table_path
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.planning.report import Status
from tests.adapters.files.place import StoredPlace
from tests.adapters.lake_store.bucket import Relay, new_bucket, options
from tests.adapters.lake_store.shop_in_store import rows_in
from tests.fakes import Killed, Process

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TABLE = TableId("drop", "shop", "orders")
ORDERS = """\
    files:
      shop.orders: {path: "*.csv", format: csv, columns: {id: bigint, status: string, at: bigint}, key: [id], order: at, settle: 0s}
    tables:
      - {table: shop.orders, history: scd2}
"""


@dataclass
class InOneStore(StoredPlace):
    """The files and the lake are in one bucket."""

    def configure(self, text: str) -> None:
        super().configure(text)
        file = self.folder / "sources.yaml"
        file.write_text(file.read_text().replace("lake: ./lake", f"lake: s3://{self.bucket}/lake"))

    @property
    def lake(self) -> str:
        """As the product calls it."""
        return f"s3a://{self.bucket}/lake"

    def copy(self, table: TableId = TABLE) -> list[tuple[Any, ...]]:
        store = store_of(self.lake)
        assert store is not None
        rows = rows_in(store, table_path(self.lake, table), self.folder)
        return sorted(tuple(row[name] for name in ("id", "status", "at")) for row in rows)

    def pages(self) -> list[str]:
        """Of the ledger."""
        store = store_of(self.lake)
        assert store is not None
        return [*store.list_from(files_path(self.lake, TABLE))]


@pytest.fixture
def place(tmp_path: Path, spark: SparkSession, relay: Relay) -> InOneStore:
    bucket = new_bucket(relay.server).removeprefix("s3://")
    found = InOneStore(tmp_path, spark, bucket, options(relay.address))
    found.configure(ORDERS)
    return found


def test_of_each_key_the_newest_row_lands_there_and_each_file_once(place: InOneStore) -> None:
    place.put("a.csv", "id,status,at\n1,new,1\n2,new,1\n")
    place.sync()
    place.put("b.csv", "id,status,at\n2,paid,2\n3,new,1\n1,older,0\n")
    place.sync()
    assert place.copy() == [(1, "new", 1), (2, "paid", 2), (3, "new", 1)]
    assert place.sync().status is Status.IDLE
    assert sorted(place.copy(TABLE.history)) == [(1, "new", 1), (2, "new", 1), (2, "paid", 2), (3, "new", 1)]
    assert place.pages() != []
    assert not (place.folder / "lake").exists()


@pytest.mark.acceptance
@pytest.mark.parametrize("step", range(1, 12))
def test_a_death_behind_any_step_loses_and_repeats_nothing(place: InOneStore, step: int) -> None:
    place.put("a.csv", "id,status,at\n1,new,1\n2,new,1\n")
    place.sync()
    place.put("b.csv", "id,status,at\n2,paid,2\n3,new,1\n")
    try:
        place.sync(process=Process(step))
    except Killed:
        place.sync()
    assert place.copy() == [(1, "new", 1), (2, "paid", 2), (3, "new", 1)]
    assert len(place.copy(TABLE.history)) == 4
    assert place.sync().status is Status.IDLE
