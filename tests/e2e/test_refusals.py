"""Every mistake of a table ends in one sentence with its cure, and the other tables go on."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from incremental_assets.demo.postgres import EmbeddedPostgres
from tests.shop import PASSWORD, Shop

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TABLES = """
- "public.orders:updated_at:timestamp!upsert"
- "public.ordres:updated_at:timestamp!upsert"
- "public.visits:att:timestamp"
- "public.returns:returned:date"
- "public.keyless:updated_at:timestamp!upsert"
- "public.salaries:id:integer"
- "public.holes:updated_at:timestamp"
"""
# table -> words that its sentence must hold: the thing, the place, the cure
SENTENCES = {
    "public.ordres": ("shop.public.ordres", "no such table"),
    "public.visits": ("shop.public.visits", "'att'", "at"),
    "public.returns": ("shop.public.returns", "'returned'", "date", "timestamp"),
    "public.keyless": ("shop.public.keyless", "primary_key", "append"),
    "public.salaries": ("shop.public.salaries", "grant it", "doctor --sql"),
    "public.holes": ("shop.public.holes", "2 rows", "nulls: always"),
}


@pytest.fixture(scope="module")
def shop(postgres: EmbeddedPostgres, tmp_path_factory: pytest.TempPathFactory) -> Shop:
    postgres.create_database("refusals")
    shop = Shop.open(postgres, "refusals", tmp_path_factory.mktemp("refusals"), TABLES, options="unlisted: ignore")
    shop.execute(
        "CREATE TABLE orders (id int PRIMARY KEY, updated_at timestamptz NOT NULL DEFAULT now())",
        "CREATE TABLE visits (who text, at timestamptz)",
        "CREATE TABLE returns (id int PRIMARY KEY, returned timestamptz)",
        "CREATE TABLE keyless (id int, updated_at timestamptz NOT NULL DEFAULT now())",
        "CREATE TABLE salaries (id int PRIMARY KEY, amount int)",
        "CREATE TABLE holes (id int, updated_at timestamptz)",
        "INSERT INTO orders VALUES (1)",
        "INSERT INTO holes VALUES (1, now()), (2, NULL), (3, NULL)",
        "REVOKE ALL ON salaries FROM reader",
    )
    return shop


@pytest.fixture(scope="module")
def answer(shop: Shop) -> tuple[int, dict[str, dict[str, Any]], str]:
    result = shop.run("sync", "--json")
    return result.returncode, {table["table"]: table for table in json.loads(result.stdout)["tables"]}, result.stderr


def test_the_run_fails_with_exit_1_and_one_document(answer: tuple[int, dict[str, dict[str, Any]], str]) -> None:
    code, tables, err = answer
    assert code == 1
    assert set(tables) == {"public.orders", *SENTENCES}
    assert "Traceback" not in err


@pytest.mark.parametrize("table", SENTENCES)
def test_a_broken_table_ends_in_one_sentence_with_its_cure(
    answer: tuple[int, dict[str, dict[str, Any]], str], table: str
) -> None:
    entry = answer[1][table]
    assert entry["status"] == "failed"
    assert "\n" not in entry["error"].strip()
    for words in SENTENCES[table]:
        assert words in entry["error"]


def test_the_table_without_a_mistake_lands(
    answer: tuple[int, dict[str, dict[str, Any]], str], shop: Shop, spark: SparkSession
) -> None:
    assert answer[1]["public.orders"]["status"] == "landed"
    assert [row[0] for row in shop.landed(spark, "orders")] == [1]


def test_the_password_is_nowhere(answer: tuple[int, dict[str, dict[str, Any]], str], shop: Shop) -> None:
    result = shop.run("sync", "--json", "--select", "public.orders")
    assert PASSWORD not in result.stdout + result.stderr + answer[2]
    holders = [path for path in shop.folder.rglob("*") if path.is_file() and PASSWORD.encode() in path.read_bytes()]
    assert holders == []


@pytest.mark.acceptance
def test_without_the_privilege_an_open_transaction_of_another_lowers_the_guarantee(shop: Shop) -> None:
    shop.execute("REVOKE pg_read_all_stats FROM reader")
    try:
        with shop.connect() as other:
            other.execute("INSERT INTO orders VALUES (7)")
            shop.execute("INSERT INTO orders VALUES (8)")
            entry = shop.sync("--select", "public.orders")["public.orders"]
            assert entry["guarantee"] == "best_effort"
            assert "pg_read_all_stats" in entry["guarantee_reason"]
            other.rollback()
    finally:
        shop.execute("GRANT pg_read_all_stats TO reader")
