"""Files on a real lake: Spark's tasks, Delta's commits, the checkpoint database."""

from __future__ import annotations

import io
import itertools
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from incremental_assets.core.errors import SchemaChanged
from incremental_assets.core.model.erased import ErasedKeys, ErasureKey
from incremental_assets.core.model.history import FaultyKeys
from incremental_assets.core.model.paths import erased_path
from incremental_assets.core.planning.plan import Mode
from incremental_assets.core.planning.report import Status
from tests.adapters.files.place import Place
from tests.fakes import Killed, Process
from tests.spark_jobs import jobs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ORDERS = """\
    files:
      shop.orders:
        {path: "orders/*.csv", format: csv, columns: {id: bigint, price: "decimal(12,2)", at: timestamp}, key: [id], order: at, settle: 0s, changed: again}
      shop.clicks: {path: "**/*.jsonl", format: json, columns: {id: bigint, what: string}, settle: 0s}
    tables:
      - {table: shop.orders}
      - {table: shop.clicks, strategy: append}
"""
MOMENTS = (
    "after intent",
    "after snapshot",
    "after write",
    "after staged",
    "before apply",
    "after apply",
    "after discard",
    "after landed",
)
"""Of each step the one behind it; the stories kill at every moment there is."""


@pytest.fixture
def place(tmp_path: Path, spark: SparkSession) -> Place:
    return Place(tmp_path, spark)


def test_files_land_in_one_commit_with_their_ledger(place: Place) -> None:
    place.configure(ORDERS)
    place.put("orders/a.csv", "id,price,at\n1,1.10,2024-01-01T00:00:00Z\n2,2.20,2024-01-01T00:00:00Z\n")
    place.put("deep/er/a.jsonl", '{"id": 1, "what": "look"}\n{"id": "x"}\n{"id": 1, "what": "look"}\n')
    for name in ("orders", "clicks"):
        report = place.sync(name)
        assert (report.status, report.guarantee) == (Status.LANDED, "settled")
        assert place.sync(name).status is Status.IDLE
    assert [(row["_file"], row["_file_row"], row["id"], row["what"]) for row in place.rows("clicks")] == [
        ("deep/er/a.jsonl", 1, 1, "look"),
        ("deep/er/a.jsonl", 3, 1, "look"),
    ]
    assert place.quarantined("clicks") == [
        ("deep/er/a.jsonl", "2", "id", "a text where the column has a whole number", "x")
    ]
    place.put(
        "orders/b.csv", "id,price,at\n1,9.99,2023-12-31T00:00:00Z\n3,,2024-01-02T00:00:00Z\n4,x,2024-01-02T00:00:00Z\n"
    )
    place.put("orders/a.csv", "id,price,at\n1,1.11,2024-01-03T00:00:00Z\n")
    report = place.sync()
    assert [(row["_file"], row["id"], row["price"]) for row in place.rows()] == [
        ("orders/a.csv", 1, Decimal("1.11")),
        ("orders/b.csv", 3, None),
    ]
    assert place.quarantined() == [("orders/b.csv", "3", "price", "a text that is no decimal(12,2)", "4")]
    assert (report.rows.deleted, report.rows.quarantined) == (1, 1)
    assert place.sync().status is Status.IDLE


PARQUET = """\
    files:
      shop.orders: {path: "*.parquet", format: parquet, key: [id], settle: 0s}
    tables:
      - {table: shop.orders, schema_changes: evolve}
"""


def parquet(**columns: Any) -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.table(columns), sink)
    return sink.getvalue()


@pytest.mark.acceptance
def test_columns_of_parquet_are_followed_as_the_table_says(place: Place) -> None:
    place.configure(PARQUET)
    place.put("a.parquet", parquet(id=[1], n=pa.array([1], pa.int32())))
    place.sync()
    place.put("b.parquet", parquet(id=[2], n=pa.array([2], pa.int8()), nested=[{"a": [1]}]))
    report = place.sync()
    assert [(each.column, each.change) for each in report.schema_changes] == [("nested", "added")]
    assert [(row["id"], row["n"], row["nested"]) for row in place.rows()] == [(1, 1, None), (2, 2, '{"a":[1]}')]
    place.configure(PARQUET.replace("evolve", "freeze"))
    place.put("c.parquet", parquet(id=[3], n=pa.array([3], pa.int32()), nested=[{"a": [1]}], more=[1]))
    with pytest.raises(SchemaChanged, match=r"more is new.* and `schema_changes: freeze` keeps them"):
        place.sync()
    place.configure(PARQUET.replace("evolve", "widen"))
    place.put("c.parquet", parquet(id=[3], n=pa.array([2**40], pa.int64())))
    report = place.sync()
    assert [(each.column, each.change) for each in report.schema_changes] == [("n", "widened")]
    assert [row["n"] for row in place.rows()] == [1, 2, 2**40]
    place.put("d.parquet", parquet(id=[4], n=["x"]))
    with pytest.raises(SchemaChanged, match=r"n was bigint and is string"):
        place.sync()


def test_a_key_that_was_erased_comes_back_by_no_file_and_by_no_row_that_cannot_land(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = ErasureKey("a key of erasures that nobody can try all values of")
    monkeypatch.setenv("ERASURE_KEY", key.secret)
    place.configure(ORDERS)
    file = place.folder / "sources.yaml"
    file.write_text(f"erasure_key: {{env: ERASURE_KEY}}\n{file.read_text()}")
    place.put("orders/a.csv", "id,price,at\n2,2.20,2024-01-01T00:00:00Z\n")
    place.sync()
    kept = Path(erased_path(str(place.folder / "lake"), place.spec().id))
    kept.parent.mkdir(parents=True)
    kept.write_text(ErasedKeys(key, frozenset()).with_keys([["1"]]).to_json())
    place.put(
        "orders/b.csv",
        "id,price,at\n1,odd,2024-01-01T00:00:00Z\n1,1.10,2024-01-02T00:00:00Z\n1,odd,2024-01-03T00:00:00Z\n3,odd,2024-01-01T00:00:00Z\n",
    )
    place.sync()
    assert [row["id"] for row in place.rows()] == [2]
    assert [held[-1] for held in place.quarantined()] == ["3"]


@pytest.mark.acceptance
def test_a_sync_killed_behind_any_step_is_made_good_by_the_next(place: Place) -> None:
    place.configure(ORDERS.replace("{table: shop.orders}", "{table: shop.orders, history: scd2}"))
    for number, moment in enumerate(MOMENTS):
        for name in ("orders", "clicks"):
            place.put(
                f"orders/{number}.csv",
                f"id,price,at\n{number},1.00,2024-01-01T00:00:{number:02}Z\n0,{number},2024-01-02T00:00:{number:02}Z\n",
            )
            place.put(f"{number}.jsonl", f'{{"id": {number}}}\n')
            process = Process("killed")
            process.at[moment] = process.kill
            with pytest.raises(Killed):
                place.sync(name, process=process)
            place.sync(name)
            with place.runtime() as runtime:
                assert runtime.checkpoints.position(place.spec(name).id).open is None, moment
        assert {row["id"]: row["price"] for row in place.rows()} == {
            0: Decimal(number),
            **dict.fromkeys(range(1, number + 1), Decimal(1)),
        }, moment
        assert [row["id"] for row in place.rows("clicks")] == [*range(number + 1)], moment
        with place.runtime() as runtime:
            assert runtime.ports("drop").historian.differing_versions(place.spec()) == FaultyKeys(0), moment
    place.sync(mode=Mode.FULL_REFRESH)
    assert len(place.rows()) == len(MOMENTS)


@pytest.mark.acceptance
def test_a_thousand_small_files_are_as_many_jobs_as_one(place: Place) -> None:
    place.configure(ORDERS)
    began = [jobs(place.spark)]
    for count in (1, 1, 1_000):
        for number in range(count):
            place.put(f"{began[-1]}-{count}-{number}.jsonl", f'{{"id": {number}, "what": "look"}}\n')
        place.sync("clicks")
        began.append(jobs(place.spark))
    _, first, one, thousand = (after - before for before, after in itertools.pairwise([0, *began]))
    assert (one, thousand) == (one, one)
    assert first >= one > 0
    assert len(place.rows("clicks")) == 1_002
    assert len([*(place.folder / "lake" / "_files").rglob("*.parquet")]) <= 3
