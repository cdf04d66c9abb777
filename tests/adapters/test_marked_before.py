"""Rows that a copy has marked as gone, on a real database: they leave once the configuration removes what is gone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from incremental_assets.demo.postgres import EmbeddedPostgres
from tests.conformance.stand import Stand
from tests.shop import PASSWORD, Shop

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TABLES = """
- {table: public.orders, cursor: {column: at, type: timestamp}, strategy: upsert, deletes: {mode: diff, every: 0s, then: mark}}
- {table: public.rates, strategy: upsert, compare: {every: 0s}, deletes: {mode: diff, then: mark}}
"""
NAMES = ("orders", "rates")


@pytest.mark.acceptance
def test_marked_rows_leave_with_the_first_comparison_after_the_change_and_new_ones_with_them(
    postgres: EmbeddedPostgres, database: str, tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_PASSWORD", PASSWORD)
    desk = Stand(Shop.open(postgres, database, tmp_path, TABLES, options="unlisted: ignore"), spark)
    for name in NAMES:
        desk.execute(
            f"CREATE TABLE {name} (id int PRIMARY KEY, note text, at timestamptz NOT NULL DEFAULT now())",
            f"INSERT INTO {name} SELECT n, 'n' FROM generate_series(1, 20) n",
        )
    desk.land()
    desk.execute(*(f"DELETE FROM {name} WHERE id < 4" for name in NAMES))
    desk.land()
    assert [len(desk.copy(name, "id")) for name in NAMES] == [20, 20]
    desk.shop.config.write_text(desk.shop.config.read_text().replace("then: mark", "then: remove"))
    desk.execute("DELETE FROM orders WHERE id = 20")
    reports = desk.land()
    assert [reports[name].rows.deleted for name in NAMES] == [4, 3]
    for name in NAMES:
        desk.assert_equal(name)
