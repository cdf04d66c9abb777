"""A transaction opened before a sync and committed after it: the row that other tools lose."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from incremental_assets.demo.postgres import EmbeddedPostgres
from tests.shop import Shop, touching

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TABLES = """
- "public.orders:updated_at:timestamp!upsert"
- "public.visits:at:timestamp!append"
- "public.events:id:integer!append"
"""


@pytest.mark.acceptance
def test_what_commits_late_arrives_with_the_next_sync_and_is_reported(
    postgres: EmbeddedPostgres, database: str, tmp_path: Path, spark: SparkSession
) -> None:
    shop = Shop.open(postgres, database, tmp_path, TABLES, options="unlisted: ignore")
    shop.execute(
        "CREATE TABLE orders (id int PRIMARY KEY, note text, updated_at timestamptz NOT NULL DEFAULT now())",
        *touching("orders"),
        "CREATE TABLE visits (who text, at timestamptz NOT NULL DEFAULT now())",
        "CREATE TABLE events (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, what text)",
        "INSERT INTO orders VALUES (1, 'early', DEFAULT)",
        "INSERT INTO visits VALUES ('ann', DEFAULT)",
        "INSERT INTO events (what) VALUES ('first')",
    )
    slow = shop.connect()
    slow.execute("INSERT INTO orders VALUES (2, 'late', DEFAULT)")
    slow.execute("INSERT INTO visits VALUES ('late', DEFAULT)")
    slow.execute("INSERT INTO events (what) VALUES ('late')")
    # Whoever began after the slow transaction commits before it, with a higher stamp and a higher number.
    shop.execute(
        "INSERT INTO orders VALUES (3, 'quick', DEFAULT)",
        "INSERT INTO visits VALUES ('quick', DEFAULT)",
        "INSERT INTO events (what) VALUES ('quick')",
    )

    first = shop.sync()
    assert {name: table["rows"]["read"] for name, table in first.items()} == {
        "public.orders": 2,
        "public.visits": 2,
        "public.events": 2,
    }
    assert {table["guarantee"] for table in first.values()} == {"settled"}
    slow.commit()
    slow.close()
    second = shop.sync()

    for name in ("public.orders", "public.visits", "public.events"):
        rows = second[name]["rows"]
        assert (rows["inserted"], rows["updated"], rows["late"]) == (1, 0, 1), (name, rows)
    assert [row[:2] for row in shop.landed(spark, "orders")] == [(1, "early"), (2, "late"), (3, "quick")]
    assert [row[0] for row in shop.landed(spark, "visits")] == ["ann", "late", "quick"]
    assert shop.landed(spark, "events") == [(1, "first"), (2, "late"), (3, "quick")]
