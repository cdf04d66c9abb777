"""T92: what a copy on a disk can do, one in a store can do; and of several writers one wins."""

from __future__ import annotations

import uuid
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from incremental_assets.core.maintenance import rollback
from incremental_assets.core.maintenance.compact import compact_all
from incremental_assets.core.model import compaction
from incremental_assets.core.model.cursor import CursorValue
from incremental_assets.core.model.paths import table_path
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.model.window import Window
from incremental_assets.core.planning.plan import Mode
from incremental_assets.demo.object_store import EmbeddedObjectStore
from tests.adapters.lake_store.shop_in_store import StoreStand
from tests.conformance.points import Point, at_points, once
from tests.conformance.scenario import of_store
from tests.conformance.store_tables import CHANGES, TABLES, assert_landed

CONTRACT = TABLES.replace("history: scd2", "contract: {note: {max_length: 12}}")


@of_store(
    "T92",
    "Four runs sync the same tables at once, three times",
    holds="each row and each version lands once; who comes second is turned away by name, or finds nothing to do",
)
def test_runs_at_once(stored: StoreStand) -> None:
    stored.land()
    for number in range(3):
        stored.execute(
            f"UPDATE orders SET note = 'round {number}' WHERE id % 5 = 0",
            f"INSERT INTO events (what) VALUES ('round {number}')",
        )
        with ThreadPoolExecutor(4) as pool:
            told = [run.result() for run in [pool.submit(stored.sync, "orders", "events") for _ in range(4)]]
        assert any(run["orders"].error is None for run in told)
    stored.settled("events")
    stored.land()
    for name in ("orders", "events"):
        stored.assert_equal(name)
    assert len(stored.history("orders")) == 500 + 3 * 100
    stored.assert_tidy("orders", "events")


@of_store(
    "T92",
    "Another program commits rows to a copy, between two syncs and while one is on its way",
    holds="the sync stops by the name of that commit, and nothing of it is overwritten",
)
@pytest.mark.parametrize("meanwhile", [False, True])
def test_another_writer(stored: StoreStand, seaweed: EmbeddedObjectStore, meanwhile: bool) -> None:
    stored.land("events")
    stored.settled("events")
    path = table_path(stored.shop.in_store, TableId("shop", "public", "events"))

    def another() -> None:
        options = {name.upper(): value for name, value in seaweed.options().items()}
        row = pa.table({"id": pa.array([-1], pa.int64()), "what": ["another's"]})
        write_deltalake(
            path.replace("s3a://", "s3://"),
            row,
            mode="append",
            schema_mode="merge",
            storage_options=options | {"AWS_ALLOW_HTTP": "true", "aws_conditional_put": "etag"},
        )

    stored.execute("INSERT INTO events (what) VALUES ('ours')")
    if meanwhile:
        told = stored.sync("events", through=lambda ports: at_points(ports, once(Point.STAGED, "events", another)))
    else:
        another()
        told = stored.sync("events")
    assert "by another writer" in (told["events"].error or "") or "delta-rs" in (told["events"].error or ""), told
    assert (-1, "another's") in stored.copy("events", "id", "what")


@of_store(
    "T92",
    "Rows break their contract, are mended, and their copy is compacted and rolled back",
    holds="what breaks it waits in quarantine and is told, what was mended lands, every row is as in the source after each step, and the copy goes back and comes again",
)
def test_a_life(stored: StoreStand, monkeypatch: pytest.MonkeyPatch) -> None:
    stored.shop.configure(CONTRACT)
    stored.land("orders")
    good = str(stored.events("orders")[-1].run_id)
    stored.execute(
        "UPDATE orders SET note = 'longer than allowed' WHERE id < 4", "UPDATE orders SET note = 'b' WHERE id = 9"
    )
    stored.land("orders")
    assert len(stored.quarantined("orders")) == 3
    assert {note for key, note in stored.copy("orders", "id", "note") if key in (1, 2, 3)} != {"longer than allowed"}
    stored.execute("UPDATE orders SET note = 'short' WHERE id < 4")
    stored.land("orders")
    stored.assert_equal("orders")
    for number in range(4):
        stored.execute(f"UPDATE orders SET note = 'n{number}' WHERE id % 9 = {number}")
        stored.land("orders")
    monkeypatch.setattr(compaction, "START", 0.001)
    monkeypatch.setattr(compaction, "PER_BYTE", 0.0)
    with stored.runtime() as runtime:
        done = list(compact_all([stored.spec("orders")], "compact", runtime.ports("shop"), seconds=60))
    assert done, "nothing was put together"
    stored.assert_equal("orders")
    before = len(stored.copy("orders"))
    with stored.runtime() as runtime:
        rollback.roll_back(stored.spec("orders"), good, str(uuid.uuid4()), runtime.ports("shop"))
    assert "n3" not in {note for (note,) in stored.copy("orders", "note")}
    stored.land("orders")
    stored.assert_equal("orders")
    assert len(stored.copy("orders")) == before


@of_store(
    "T92",
    "A column with a default comes, all rows are deleted, and rows with their keys come again",
    holds="the copy is as the source after each sync, and the history has every version",
)
def test_a_new_column_and_an_emptied_table(stored: StoreStand) -> None:
    stored.land()
    stored.execute(*CHANGES)
    stored.land()
    assert_landed(stored)
    stored.execute("ALTER TABLE orders ADD COLUMN more text DEFAULT 'of all'")
    stored.land("orders")
    stored.assert_equal("orders")
    stored.execute("DELETE FROM orders")
    stored.land("orders", allow_shrink=True)
    assert stored.copy("orders") == []
    stored.execute("INSERT INTO orders (id, note) SELECT n, 'again' FROM generate_series(1, 30) n")
    stored.land("orders")
    stored.assert_equal("orders")


@of_store(
    "T92",
    "Rows change without a stamp, and a check, a repair and a backfill follow",
    holds="the check finds what differs and no more, and after each of the others the copy is as the source",
)
def test_a_check_a_repair_and_a_backfill(stored: StoreStand) -> None:
    stored.land()
    for name in ("events", "orders"):
        # What lies above the watermark is read again by each sync, and would be seen.
        stored.settled(name)
    assert stored.check("orders") == 0
    unstamped = "SET session_replication_role = replica; UPDATE orders SET note = '{}' WHERE id IN (3, 4, 5)"
    stored.execute(unstamped.format("unseen"))
    stored.land()
    assert stored.check("orders") == 3
    stored.repair("orders")
    stored.assert_equal("orders")
    assert stored.check("orders") == 0
    stored.execute(unstamped.format("unseen again"))
    begun = CursorValue.parse(stored.settled("orders").type, "2000-01-01T00:00:00Z")
    stored.land("orders", mode=Mode.BACKFILL, window=Window(begun, None))
    stored.assert_equal("orders")
