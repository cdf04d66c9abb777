"""A shop whose engine is watched from outside."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil

from incremental_assets.adapters.fork_server import control
from incremental_assets.resources.home import engine_folder
from tests.shop import Shop

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Watched:
    """A shop, and what is seen of its engine from outside."""

    def __init__(self, shop: Shop) -> None:
        self.shop = shop

    def engine(self, *words: str) -> tuple[int, dict[str, Any]]:
        """One call of the command: exit status and document."""
        done = self.shop.run("engine", *words, "--json")
        document = json.loads(done.stdout)
        assert isinstance(document, dict)
        return done.returncode, document

    @property
    def process(self) -> psutil.Process:
        """The running engine."""
        return psutil.Process(self.engine("status")[1]["pid"])

    @property
    def files(self) -> dict[str, Path]:
        """What lies in its folder."""
        (folder,) = (self.shop.folder / "dagster" / "engine").iterdir()
        return {path.name: path for path in folder.iterdir() if path.is_file()}

    def sync(self, *arguments: str) -> tuple[subprocess.CompletedProcess[str], bool]:
        """One sync to its end, and whether it started a JVM."""
        process, jvm = self.shop.start("sync", "--json", *arguments), False
        while True:
            try:
                out, err = process.communicate(timeout=0.3)
                break
            except subprocess.TimeoutExpired:
                jvm = jvm or any(child.name() == "java" for pid in self._roots(process.pid) for child in children(pid))
        return subprocess.CompletedProcess(process.args, process.returncode, out, err), jvm

    def _roots(self, command: int) -> list[int]:
        """The processes that a command's own may descend from: it may be a fork of the fork server."""
        folder = self.shop.folder / "dagster" / "engine" / engine_folder().name
        forks = control.running(folder)
        return [command, *([forks] if forks is not None else [])]

    def assert_equal(self, spark: SparkSession) -> None:
        """Every copy is its source."""
        orders = "SELECT id, note, updated_at AT TIME ZONE 'UTC' FROM orders"
        assert self.shop.landed(spark, "orders") == self.shop.truth(orders)
        assert self.shop.landed(spark, "events") == self.shop.truth("SELECT id, what FROM events")
        assert self.shop.landed(spark, "prices") == self.shop.truth("SELECT sku, price FROM prices")
        assert list((self.shop.folder / "lake" / "_staging").rglob("*.parquet")) == []


def children(pid: int) -> list[psutil.Process]:
    """Those that are still there."""
    try:
        return psutil.Process(pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def life_goes_on(shop: Shop) -> None:
    shop.execute(
        "UPDATE orders SET note = note || '!', updated_at = now() WHERE id <= 100",
        "INSERT INTO orders (id, note) SELECT max(id) + n, 'new' FROM orders, generate_series(1, 20) n GROUP BY n",
        "INSERT INTO events (what) SELECT 'more ' || n FROM generate_series(1, 50) n",
        "UPDATE prices SET price = price + 1",
    )
