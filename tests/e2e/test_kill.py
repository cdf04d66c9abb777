"""kill -9 of the whole process group in the middle of a sync: the next one ends equal to the source, nothing twice."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest

from incremental_assets.demo.postgres import EmbeddedPostgres
from tests.shop import MAKE_THREE, THREE_STRATEGIES, Shop, kill, wait_for

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MOMENTS = {
    "as soon as the intent is written": ("intent", 1),
    "when the second table has announced itself": ("intent", 2),
    "when the first batch is staged": ("staged", 1),
    "when the last batch is staged": ("staged", 3),
    "between the commit in the lake and its record": ("commit", 1),
    "when the first table has landed": ("landed", 1),
    "when the second table has landed": ("landed", 2),
}
RUNS = {True: "first load", False: "incremental"}
TARGETS = {
    ("between the commit in the lake and its record", True): (),
    ("as soon as the intent is written", True): pytest.mark.acceptance,
}
ALL = [pytest.param(*case, marks=TARGETS.get(case, pytest.mark.long)) for case in itertools.product(MOMENTS, RUNS)]
"""By the command line and Dagster. The fault report kills at every point of the sync itself."""


@pytest.fixture
def shop(postgres: EmbeddedPostgres, database: str, tmp_path: Path) -> Shop:
    shop = Shop.open(postgres, database, tmp_path, THREE_STRATEGIES, options="unlisted: ignore")
    shop.execute(*MAKE_THREE)
    return shop


def life_goes_on(shop: Shop) -> None:
    shop.execute(
        "UPDATE orders SET note = 'changed', updated_at = now() WHERE id <= 100",
        "INSERT INTO orders (id, note) SELECT max(id) + n, 'new' FROM orders, generate_series(1, 20) n GROUP BY n",
        "INSERT INTO events (what) SELECT 'more ' || n FROM generate_series(1, 50) n",
        "UPDATE prices SET price = price + 1",
    )


def commits(shop: Shop) -> int:
    """Files in the logs of the lake: one more is one more commit."""
    return sum(1 for _ in (shop.folder / "lake").glob("shop/public/*/_delta_log/*.json"))


def reached(shop: Shop, kind: str, count: int, events_before: int, commits_before: int) -> bool:
    if kind == "commit":
        return commits(shop) >= commits_before + count
    return sum(1 for _, event in shop.events()[events_before:] if event == kind) >= count


@pytest.mark.parametrize(("moment", "first"), ALL, ids=lambda value: RUNS.get(value, value))
def test_the_next_sync_heals_what_a_kill_left(shop: Shop, spark: SparkSession, moment: str, first: bool) -> None:
    if not first:
        shop.sync()
        life_goes_on(shop)
    kind, count = MOMENTS[moment]
    before = len(shop.events()), commits(shop)
    process = shop.start("sync", "--json")
    if kind == "commit" and first:
        count += 1  # the first commit of a new table only creates it
    assert wait_for(lambda: reached(shop, kind, count, *before), process), process.communicate()
    kill(process)

    life_goes_on(shop)
    shop.sync()

    assert shop.landed(spark, "orders") == shop.truth("SELECT id, note, updated_at AT TIME ZONE 'UTC' FROM orders")
    assert shop.landed(spark, "events") == shop.truth("SELECT id, what FROM events")
    assert shop.landed(spark, "prices") == shop.truth("SELECT sku, price FROM prices")
    assert list((shop.folder / "lake" / "_staging").rglob("*.parquet")) == []


@pytest.mark.acceptance
def test_a_jvm_that_is_killed_alone_is_told_in_a_sentence_for_each_table(shop: Shop, spark: SparkSession) -> None:
    shop.sync()
    life_goes_on(shop)
    before = len(shop.events())
    process = shop.start("sync", "--json")
    assert wait_for(lambda: reached(shop, "staged", 1, before, 0), process), process.communicate()
    (jvm,) = [each for each in psutil.Process(process.pid).children(recursive=True) if each.name() == "java"]
    jvm.kill()
    out, err = process.communicate()

    assert process.returncode == 1, (out, err)
    assert "Traceback" not in out + err
    told = [table["error"] for table in json.loads(out)["tables"] if table["error"]]
    assert told
    assert all(
        f"Spark's JVM (pid {jvm.pid}) ended in the middle of this (signal 9); the next sync goes on from what has landed"
        in each
        for each in told
    )

    shop.sync()
    assert shop.landed(spark, "orders") == shop.truth("SELECT id, note, updated_at AT TIME ZONE 'UTC' FROM orders")
    assert shop.landed(spark, "events") == shop.truth("SELECT id, what FROM events")
    assert shop.landed(spark, "prices") == shop.truth("SELECT sku, price FROM prices")
