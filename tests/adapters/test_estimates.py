"""What PostgreSQL's planner says of a read: the rows that it expects, and the index that finds them; nothing is read for it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.table import Cursor, Strategy
from incremental_assets.core.model.window import Window
from incremental_assets.core.planning.estimate import Estimate
from incremental_assets.core.planning.plan import SyncPlan
from tests.adapters.source import READER, UPDATED, Source, planned

RECENT = CursorValue.parse(CursorType.TIMESTAMP, "2024-03-09T00:00:00Z")


@pytest.fixture
def shop(source: Source) -> Source:
    source.execute(
        "CREATE TABLE orders (id int PRIMARY KEY, updated_at timestamptz NOT NULL, note text)",
        "INSERT INTO orders SELECT n, '2024-03-01'::timestamptz + n * interval '1 minute', repeat('x', 100) FROM generate_series(1, 20000) n",
        "CREATE TABLE plain (LIKE orders, PRIMARY KEY (id))",
        "INSERT INTO plain SELECT * FROM orders",
        "CREATE INDEX plain_of_all ON plain (id, updated_at, note)",
        "CREATE INDEX plain_of_some ON plain (updated_at) WHERE note = 'y'",
        "CREATE TABLE few (id int PRIMARY KEY, updated_at timestamptz NOT NULL)",
        "INSERT INTO few SELECT n, '2024-03-01'::timestamptz + n * interval '1 day' FROM generate_series(1, 30) n",
        "CREATE TABLE parted (id int, updated_at timestamptz NOT NULL) PARTITION BY RANGE (updated_at)",
        "CREATE TABLE parted_old PARTITION OF parted FOR VALUES FROM ('2024-01-01') TO ('2024-03-01')",
        "CREATE TABLE parted_new PARTITION OF parted FOR VALUES FROM ('2024-03-01') TO ('2025-01-01')",
        "INSERT INTO parted SELECT n, '2024-02-25'::timestamptz + n * interval '1 minute' FROM generate_series(1, 20000) n",
        "CREATE INDEX orders_by_time ON orders (updated_at)",
        "CREATE INDEX few_by_time ON few (updated_at)",
        "CREATE INDEX ON parted (updated_at)",
        "ANALYZE",
    )
    return source


def estimated(shop: Source, name: str, cursor: Cursor | None = UPDATED, lower: CursorValue | None = RECENT) -> Estimate:
    strategy = Strategy.APPEND if cursor else Strategy.FULL_REFRESH
    probe = shop.open()
    plan: SyncPlan = planned(probe, shop.spec(name, cursor, strategy=strategy))
    (estimate,) = probe.estimates([replace(plan, reading=replace(plan.reading, window=Window(lower, None)))])
    return estimate


def test_an_index_that_finds_the_rows_is_named_with_the_rows_that_are_expected(shop: Source) -> None:
    found = estimated(shop, "orders")
    assert (found.indexes, found.scans) == (("orders_by_time",), False)
    assert found.rows == pytest.approx(20_000 - 8 * 24 * 60, rel=0.2)
    assert '"updated_at" >=' in found.sql


def test_without_an_index_of_the_cursor_the_whole_table_is_read_whatever_else_is_indexed(shop: Source) -> None:
    found = estimated(shop, "plain")
    assert (found.indexes, found.scans) == ((), True)


def test_of_a_small_table_the_planner_passes_over_the_index_that_there_is(shop: Source) -> None:
    found = estimated(shop, "few")
    assert (found.indexes, found.scans) == (("few_by_time",), True)


def test_a_partition_that_holds_nothing_of_the_window_is_not_read(shop: Source) -> None:
    assert estimated(shop, "parted").indexes == ("parted_new_updated_at_idx",)


def test_a_whole_read_expects_every_row_and_asks_for_no_index(shop: Source) -> None:
    found = estimated(shop, "plain", None, None)
    assert (found.rows, found.indexes, found.scans) == (20_000, (), True)


def test_a_read_that_the_source_refuses_says_so_and_the_others_are_explained(shop: Source) -> None:
    probe = shop.open()
    plans = [planned(probe, shop.spec(name, UPDATED)) for name in ("orders", "plain")]
    shop.execute(f"GRANT SELECT ON plain TO {READER}")

    refused, explained = shop.open(READER).estimates(plans)

    assert refused.rows is None
    assert "permission denied" in refused.unknown
    assert explained.rows == 20_000
