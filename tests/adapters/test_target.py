"""Copies that lie where the configuration puts them, from a real database to the lake: landed, followed by a history, checked, repaired, moved."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from incremental_assets.core.planning.plan import Mode
from incremental_assets.core.planning.report import Status
from incremental_assets.demo.postgres import EmbeddedPostgres
from tests.conformance.stand import Stand
from tests.shop import PASSWORD, Shop

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TABLES = """
- {table: public.orders, cursor: {column: at, type: timestamp}, strategy: upsert, history: scd2, contract: {qty: {ge: 0}}}
"""


@pytest.mark.acceptance
def test_a_copy_and_its_history_lie_where_they_are_put_and_another_place_is_taken_by_a_full_refresh_alone(
    postgres: EmbeddedPostgres, database: str, tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_PASSWORD", PASSWORD)
    options = 'unlisted: ignore\ntarget: "raw/{table}"'
    desk = Stand(Shop.open(postgres, database, tmp_path, TABLES, options=options), spark)
    desk.execute(
        "CREATE TABLE orders (id int PRIMARY KEY, qty int, at timestamptz NOT NULL DEFAULT clock_timestamp())",
        "INSERT INTO orders VALUES (1, 1), (2, -2), (3, 3)",
    )

    def rows(folder: str) -> list[tuple[int, int]]:
        found = spark.read.format("delta").load(str(desk.lake / folder)).select("id", "qty").collect()
        return sorted((int(row[0]), int(row[1])) for row in found)

    desk.land()
    desk.execute("UPDATE orders SET qty = 4, at = clock_timestamp() WHERE id = 1")
    desk.land()
    assert rows("raw/orders") == [(1, 4), (3, 3)]
    assert rows("raw/orders__history") == [(1, 1), (1, 4), (3, 3)]
    assert not (desk.lake / "shop").exists()
    assert desk.check("orders") == 0

    desk.shop.configure(TABLES, options.replace("raw", "gold"))
    (stopped,) = desk.sync().values()
    assert stopped.status is Status.FAILED
    assert "its copy lies in raw/orders of the lake, and `target` says gold/orders" in str(stopped.error)
    desk.land(mode=Mode.FULL_REFRESH)
    assert rows("gold/orders") == rows("gold/orders__history") == rows("raw/orders")
    assert desk.check("orders") == 0


@pytest.mark.acceptance
def test_copies_and_histories_of_a_globs_tables_lie_apart(
    postgres: EmbeddedPostgres, database: str, tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_PASSWORD", PASSWORD)
    glob = """
- {match: "t*.orders*", cursor: {column: at, type: timestamp}, strategy: upsert, history: scd2, target: "gold/{schema}_{table}"}
"""
    desk = Stand(Shop.open(postgres, database, tmp_path, glob, options="unlisted: ignore"), spark)
    for schema in ("t1", "t2"):
        desk.execute(
            f"CREATE SCHEMA {schema}",
            f"CREATE TABLE {schema}.orders (id int PRIMARY KEY, qty int, at timestamptz NOT NULL DEFAULT clock_timestamp())",
            f"INSERT INTO {schema}.orders VALUES (1, {schema[1]}), (2, 5)",
            f"GRANT USAGE ON SCHEMA {schema} TO reader",
        )

    def rows(folder: str) -> list[tuple[int, int]]:
        found = spark.read.format("delta").load(str(desk.lake / folder)).select("id", "qty").collect()
        return sorted((int(row[0]), int(row[1])) for row in found)

    assert {each.status for each in desk.sync().values()} == {Status.LANDED}
    desk.execute("UPDATE t2.orders SET qty = 9, at = clock_timestamp() WHERE id = 2")
    desk.sync()
    assert (rows("gold/t1_orders"), rows("gold/t2_orders")) == ([(1, 1), (2, 5)], [(1, 2), (2, 9)])
    assert rows("gold/t2_orders__history") == [(1, 2), (2, 5), (2, 9)]
    assert not (desk.lake / "shop").exists()
