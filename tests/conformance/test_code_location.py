"""T10: SIGTERM to a Dagster code location whose run is at work, as a supervisor or `docker stop` sends it: to that process alone."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest
from dagster import DagsterInstance, DagsterRun, DagsterRunStatus

from incremental_assets.demo.postgres import EmbeddedPostgres
from tests.conformance.scenario import scenario
from tests.conformance.test_signals import assert_next_sync_lands, assert_nothing_is_left, left_over, silent
from tests.e2e.stand import DOCS, free_port
from tests.shop import MAKE_THREE, THREE_STRATEGIES, Shop, wait_for

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.timeout(900)

WITHIN = 10.0
"""Seconds: what `docker stop` waits before it kills."""
NAMES = {"orders", "events", "prices"}


@dataclass
class Location:
    """The code location of docs/deployment.md with its daemon, on SQLite."""

    shop: Shop
    environment: dict[str, str]

    @classmethod
    def of(cls, shop: Shop) -> Location:
        home = Path(shop.environment["DAGSTER_HOME"])
        with suppress(FileExistsError):
            (home / "dagster.yaml").symlink_to(Path(__file__).parents[2] / "dagster.yaml")
        shutil.copy(DOCS / "deployment" / "workspace.yaml", home)
        this = cls(shop, {**shop.environment, "CODE_SERVER_HOST": "127.0.0.1", "CODE_SERVER_PORT": free_port()})
        # As `dagster instance migrate` does: two processes that begin at once would both make the tables.
        this.runs()
        return this

    @contextmanager
    def server(self) -> Iterator[subprocess.Popen[str]]:
        """`dagster api grpc`, which ends with the block at the latest."""
        where = ("--host", "127.0.0.1", "--port", self.environment["CODE_SERVER_PORT"])
        what = ("--module-name", "incremental_assets.definitions", "--location-name", "incremental_assets")
        with self._running("dagster", "api", "grpc", *where, *what) as process:
            yield process

    @contextmanager
    def daemon(self) -> Iterator[subprocess.Popen[str]]:
        """Asks for the sensor's ticks."""
        workspace = str(Path(self.environment["DAGSTER_HOME"]) / "workspace.yaml")
        with self._running("dagster-daemon", "run", "--workspace", workspace) as process:
            yield process

    @contextmanager
    def _running(self, *words: str) -> Iterator[subprocess.Popen[str]]:
        program = str(Path(sys.executable).with_name(words[0]))
        with (self.shop.folder / f"{words[0]}.log").open("a") as log:
            process = subprocess.Popen(
                [program, *words[1:]], env=self.environment, stdout=log, stderr=log, text=True, start_new_session=True
            )
        try:
            yield process
        finally:
            for each in (*family(process), process):
                with suppress(psutil.NoSuchProcess, ProcessLookupError):
                    each.kill()
            process.wait()

    def runs(self) -> list[DagsterRun]:
        """Newest first."""
        with DagsterInstance.from_config(self.environment["DAGSTER_HOME"]) as instance:
            return list(instance.get_runs())

    def said(self) -> str:
        return "".join(path.read_text() for path in self.shop.folder.glob("*.log"))


def landed(shop: Shop) -> set[str]:
    return {name for name, kind in shop.events() if kind == "landed"}


def family(process: subprocess.Popen[str]) -> list[psutil.Process]:
    with suppress(psutil.NoSuchProcess):
        return psutil.Process(process.pid).children(recursive=True)
    return []


@pytest.fixture
def shop(postgres: EmbeddedPostgres, database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shop:
    options = "unlisted: ignore\nevery: 2s\npartitions: {every: month, from: 2024-01-01}"
    shop = Shop.open(postgres, database, tmp_path, THREE_STRATEGIES, options=options)
    shop.execute(*MAKE_THREE)
    # Where dagster.yaml has its event log, also for who looks at it here.
    monkeypatch.setenv("DAGSTER_HOME", shop.environment["DAGSTER_HOME"])
    return shop


@scenario(
    "T10",
    "SIGTERM to the code location alone while a run of its sensor reads from a source that says nothing",
    holds="it ends within ten seconds, and its run with it: no JVM and no lease is left, Dagster shows the run as failed; started again, "
    "it lands all, with no hand on it",
    long=True,
)
def test_a_code_location_ends_with_its_runs(shop: Shop, spark: SparkSession) -> None:
    with silent(shop) as between:
        location = Location.of(shop)
        with location.daemon():
            with location.server() as server:
                between.stall_after(40_000)
                assert wait_for(lambda: ("orders", "intent") in shop.events(), server), location.said()
                assert wait_for(lambda: between.stalled > 0, server), location.said()
                at_work = family(server)
                begun = time.monotonic()
                server.send_signal(signal.SIGTERM)
                server.wait(timeout=120)
                took = time.monotonic() - begun
            assert server.returncode == 0, location.said()
            assert took < WITHIN, (took, location.said())
            assert left_over(at_work) == []
            # One per partition scheme: at its end already, at work, waiting for the source, or not begun.
            statuses = {run.status for run in location.runs()}
            assert DagsterRunStatus.FAILURE in statuses
            assert statuses <= {DagsterRunStatus.SUCCESS, DagsterRunStatus.FAILURE, DagsterRunStatus.QUEUED}
            assert_nothing_is_left(shop, "read")

            between.heal()
            with location.server() as server:
                assert wait_for(lambda: landed(shop) == NAMES, server, 400), location.said()
    assert_next_sync_lands(shop, spark)
