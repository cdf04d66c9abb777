"""The same code against a Spark cluster: the work is done by executors in JVMs of their own, and the copies equal the source."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from incremental_assets.demo.postgres import EmbeddedPostgres
from tests.e2e.cluster import WORKERS, Cluster, with_the_needs_of_pyspark
from tests.shop import THREE_STRATEGIES, Shop

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.acceptance, pytest.mark.timeout(900)]

QUERIES = {
    "orders": "SELECT id, note, due, updated_at AT TIME ZONE 'UTC' FROM orders",
    "events": "SELECT id, what FROM events",
    "prices": "SELECT sku, price FROM prices",
}


@pytest.fixture
def shop(postgres: EmbeddedPostgres, database: str, tmp_path: Path, cluster: Cluster) -> Shop:
    shop = Shop.open(postgres, database, tmp_path, THREE_STRATEGIES, options="unlisted: ignore")
    with shop.config.open("a") as file:
        file.write(f"spark: {{master: '{cluster.url}'}}\n")
    shop.execute(
        "CREATE TABLE orders (id int PRIMARY KEY, note text, due timestamp, updated_at timestamptz NOT NULL DEFAULT now())",
        "CREATE TABLE events (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, what text)",
        "CREATE TABLE prices (sku text PRIMARY KEY, price numeric(8,2))",
        "INSERT INTO orders SELECT n, 'first', '1500-02-28 02:30'::timestamp + n * interval '1 day' FROM generate_series(1, 5000) n",
        "INSERT INTO events (what) SELECT 'born ' || n FROM generate_series(1, 5000) n",
        "INSERT INTO prices SELECT 'sku' || n, n FROM generate_series(1, 50) n",
    )
    return shop


def test_a_first_load_and_a_tick_on_a_cluster_of_two_workers_leave_every_table_equal_to_the_source(
    shop: Shop, cluster: Cluster, spark: SparkSession
) -> None:
    first = shop.sync()
    shop.execute(
        "UPDATE orders SET note = 'changed', updated_at = now() WHERE id <= 100",
        "INSERT INTO orders (id, note) SELECT 5000 + n, 'new' FROM generate_series(1, 20) n",
        "INSERT INTO events (what) SELECT 'more ' || n FROM generate_series(1, 50) n",
        "UPDATE prices SET price = price + 1",
    )
    tick = shop.sync()

    assert {name: (entry["status"], entry["rows"]["inserted"]) for name, entry in first.items()} == {
        "public.orders": ("landed", 5000),
        "public.events": ("landed", 5000),
        "public.prices": ("landed", 50),
    }
    assert (tick["public.orders"]["rows"]["inserted"], tick["public.orders"]["rows"]["updated"]) == (20, 100)
    assert [entry["by_spark"] for entry in (*first.values(), *tick.values())] == [None] * 6
    for name, query in QUERIES.items():
        assert shop.landed(spark, name) == shop.truth(query)
    apps = cluster.told()["completedapps"]
    assert [(app["name"], app["cores"]) for app in apps] == [("incremental-assets", WORKERS)] * 2


def found(shop: Shop, **variables: str) -> dict[tuple[str, str], tuple[str, str]]:
    """What `doctor` says of the cluster and of the source, by subject and topic."""
    done = shop.run("doctor", "--json", **variables)
    assert "findings" in done.stdout, (done.stdout, done.stderr)
    return {
        (each["subject"], each["topic"]): (each["health"], each["detail"])
        for each in json.loads(done.stdout)["findings"]
    }


def test_doctor_asks_each_executor_what_it_has_and_reaches(shop: Shop) -> None:
    told = found(shop)
    assert told["cluster", "python"][1].startswith("2 executors on 1 machine run Python")
    assert {told["cluster", topic][0] for topic in ("python", "clock", "lake")} == {"ok"}


def test_workers_that_have_only_what_pyspark_needs_are_sent_the_rest_and_tasks_do_the_work(
    shop: Shop, cluster: Cluster, spark: SparkSession, tmp_path: Path
) -> None:
    """Neither this package nor a driver of a database is there, and the lake is read and written by tasks all the same."""
    python = with_the_needs_of_pyspark(tmp_path / "bare")
    health, detail = found(shop, PYSPARK_PYTHON=str(python))["cluster", "python"]
    assert health == "ok"
    assert "what tasks import and they lack is sent to them in each session" in detail
    done = shop.run("sync", "--json", PYSPARK_PYTHON=str(python))
    assert done.returncode == 0, (done.stdout, done.stderr)
    assert [table["by_spark"] for table in json.loads(done.stdout)["tables"]] == [None] * 3
    for name, query in QUERIES.items():
        assert shop.landed(spark, name) == shop.truth(query)
