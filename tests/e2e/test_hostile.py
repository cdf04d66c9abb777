"""Names that break careless tools: they sync, and nothing else is touched."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from incremental_assets.demo.postgres import EmbeddedPostgres
from tests.shop import Shop

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TABLES = """
- table: 'public."we""ird; drop table x--.Tbl"'
  cursor: {column: "x.y", type: timestamp}
  strategy: upsert
"""


@pytest.mark.acceptance
def test_a_hostile_table_syncs_and_nothing_else_is_touched(
    postgres: EmbeddedPostgres, database: str, tmp_path: Path, spark: SparkSession
) -> None:
    shop = Shop.open(postgres, database, tmp_path, TABLES, options="unlisted: ignore")
    shop.execute(
        "CREATE TABLE x (canary int)",
        "INSERT INTO x VALUES (1)",
        'CREATE TABLE "we""ird; drop table x--.Tbl" '
        '("a b" int, "select" text, "ünïcode" text, "x.y" timestamptz DEFAULT now(), "q`t" text, PRIMARY KEY ("a b", "q`t"))',
        """INSERT INTO "we""ird; drop table x--.Tbl" VALUES (1, 'from', 'ü', DEFAULT, '`'), (2, NULL, '$$;''', DEFAULT, '"')""",
    )
    shop.sync()
    shop.execute(
        """UPDATE "we""ird; drop table x--.Tbl" SET "select" = 'where', "x.y" = clock_timestamp() WHERE "a b" = 2"""
    )
    second = shop.sync()

    (table,) = second.values()
    assert (table["rows"]["updated"], table["rows"]["inserted"]) == (1, 0)
    folder = next((shop.folder / "lake" / "shop" / "public").iterdir())
    rows = (
        spark.read.format("delta")
        .load(str(folder))
        .select("`a b`", "`select`", "`ünïcode`", "`q``t`")
        .orderBy("`a b`")
        .collect()
    )
    assert [tuple(row) for row in rows] == [(1, "from", "ü", "`"), (2, "where", "$$;'", '"')]
    assert shop.truth("SELECT * FROM x") == [(1,)]
