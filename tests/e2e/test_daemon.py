"""The real daemon: what changes in the database is in the lake a little later, with no hand on it, whatever breaks in between."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
import pytest

from incremental_assets.adapters.process import ProcessIdentity
from incremental_assets.defs.in_flight import PROCESS_TAG
from incremental_assets.demo.postgres import EmbeddedPostgres
from tests.shop import Shop

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.acceptance, pytest.mark.timeout(900)]

TABLES = """
- "public.orders:updated_at:timestamp!upsert"
- "public.visits:at:timestamp!append"
"""
TRUTH = {
    "orders": "SELECT id, note, updated_at AT TIME ZONE 'UTC' FROM orders",
    "visits": "SELECT who, at AT TIME ZONE 'UTC' FROM visits",
}
RUNS = "{ runsOrError(limit: 20) { ... on Runs { results { runId status jobName stepStats { stepKey } tags { key value } } } } }"
TICKS = """
{ sensorsOrError(repositorySelector: {repositoryName: "__repository__", repositoryLocationName: "incremental_assets"}) {
    ... on Sensors { results { name sensorState { status ticks(limit: 5) { status skipReason error { message } } } } } } }
"""


class Dev:
    """`incremental-assets dev` around a shop whose database may be pulled down."""

    def __init__(self, shop: Shop, spark: SparkSession) -> None:
        self.shop, self._spark = shop, spark
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.process = self._start()

    def _start(self) -> subprocess.Popen[str]:
        home = Path(self.shop.environment["DAGSTER_HOME"])
        with suppress(FileExistsError):
            (home / "dagster.yaml").symlink_to(Path(__file__).parents[2] / "dagster.yaml")
        return self.shop.start("dev", "--port", str(self.port))

    def ask(self, query: str) -> Any:
        """GraphQL, as the UI asks; None while nobody answers."""
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}/graphql",
            json.dumps({"query": query}).encode(),
            {"Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:
                return json.load(answer)["data"]
        except OSError:
            return None

    def runs(self) -> list[dict[str, Any]]:
        """Newest first."""
        return (self.ask(RUNS) or {}).get("runsOrError", {}).get("results", [])

    def ticks(self) -> list[dict[str, Any]]:
        """The sensor's last ticks, newest first."""
        found = (self.ask(TICKS) or {}).get("sensorsOrError", {}).get("results", [])
        return [tick for sensor in found for tick in sensor["sensorState"]["ticks"]]

    def wait(self, what: Callable[[], object], seconds: float = 240) -> None:
        """Until it holds, as long as somebody is there who could bring it about."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            assert self.process.poll() is None, self.process.communicate()
            if what():
                return
            time.sleep(0.3)
        raise AssertionError(f"it never happened: {self.ticks()}, {self.runs()}, {self.shop.events()[-8:]}")

    def landed(self, table: str) -> int:
        """Syncs of a table that have landed."""
        return self.shop.events().count((table, "landed"))

    def is_equal(self) -> bool:
        """Whether both copies are the source as it is now."""
        return all(
            any((self.shop.lake(table) / "_delta_log").glob("*.json"))
            and self.shop.landed(self._spark, table) == self.shop.truth(query)
            for table, query in TRUTH.items()
        )

    def is_quiet(self) -> bool:
        """Whether no run is under way."""
        return all(run["status"] in ("SUCCESS", "FAILURE", "CANCELED") for run in self.runs())

    def run_worker(self) -> psutil.Process:
        """The process in which Dagster executes a run, as soon as it has said so."""
        found: list[psutil.Process] = []

        def look() -> bool:
            for run in self.runs():
                signed = {tag["key"]: tag["value"] for tag in run["tags"]}.get(PROCESS_TAG)
                if run["status"] == "STARTED" and signed is not None:
                    found.append(psutil.Process(ProcessIdentity.parse(signed).pid))
            return bool(found)

        self.wait(look)
        return found[0]

    def engine(self) -> psutil.Process:
        """The one that `dev` has started."""
        found = json.loads(self.shop.run("engine", "status", "--json").stdout)
        return psutil.Process(found["pid"])

    def end(self) -> None:
        """Ctrl-C."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            try:
                self.process.communicate(timeout=90)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.shop.run("engine", "stop")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[EmbeddedPostgres]:
    own = EmbeddedPostgres(tmp_path / "server", settings={"fsync": "off"})
    own.start()
    yield own
    own.remove()


@pytest.fixture
def dev(server: EmbeddedPostgres, tmp_path: Path, spark: SparkSession) -> Iterator[Dev]:
    server.create_database("shop")
    shop = Shop.open(
        server,
        "shop",
        tmp_path,
        TABLES,
        options="unlisted: ignore\nevery: 2s\npartitions: {every: month, from: 2024-01-01}",
    )
    shop.execute(
        "CREATE TABLE orders (id int PRIMARY KEY, note text, updated_at timestamptz NOT NULL DEFAULT now())",
        "CREATE TABLE visits (who text, at timestamptz NOT NULL DEFAULT now())",
        "INSERT INTO orders SELECT n, 'first' FROM generate_series(1, 100) n",
        "INSERT INTO visits SELECT 'guest ' || n FROM generate_series(1, 100) n",
    )
    this = Dev(shop, spark)
    yield this
    this.end()


def test_what_changes_is_in_the_lake_a_little_later_whatever_breaks_in_between(
    dev: Dev, server: EmbeddedPostgres
) -> None:
    # A first load, asked for by the sensor.
    dev.wait(dev.is_equal)
    dev.wait(dev.is_quiet)
    assert {run["status"] for run in dev.runs()} == {"SUCCESS"}
    for run in dev.runs():
        assert {"key": "mode", "value": "sync"} in run["tags"]
        assert all(step["stepKey"].startswith("sync") for step in run["stepStats"]), (
            "a sync of the sensor brings no check that reads whole tables"
        )

    # Changes.
    dev.shop.execute(
        "UPDATE orders SET note = 'paid', updated_at = now() WHERE id < 10", "INSERT INTO visits VALUES ('new')"
    )
    dev.wait(dev.is_equal)
    dev.wait(dev.is_quiet)

    # The database goes away: the ticks say so in a sentence, and nothing runs.
    runs = len(dev.runs())
    server.stop()
    dev.wait(lambda: any("127.0.0.1" in (tick["skipReason"] or "") for tick in dev.ticks()))
    assert {tick["status"] for tick in dev.ticks()} <= {"SKIPPED", "SUCCESS", "STARTED"}
    assert len(dev.runs()) == runs

    # And comes back.
    server.start()
    dev.shop.execute(
        "INSERT INTO orders VALUES (101, 'after the break')", "INSERT INTO visits VALUES ('after the break')"
    )
    dev.wait(dev.is_equal)
    dev.wait(dev.is_quiet)

    # The process of a run is killed in the middle: the next tick asks for another.
    dev.shop.execute("INSERT INTO orders SELECT n, 'many' FROM generate_series(200, 300) n")
    worker = dev.run_worker()
    for process in (*worker.children(recursive=True), worker):
        process.kill()
    dev.wait(dev.is_equal, seconds=420)
    dev.wait(dev.is_quiet)

    # The engine is killed: the next run starts Spark itself.
    engine = dev.engine()
    engine.kill()
    dev.shop.execute("INSERT INTO orders SELECT n, 'by itself' FROM generate_series(400, 410) n")
    dev.wait(dev.is_equal)
    dev.wait(dev.is_quiet)
    assert dev.runs()[0]["status"] == "SUCCESS"
    assert [event for table, event in dev.shop.events() if table == "orders"].count("landed") >= 4
