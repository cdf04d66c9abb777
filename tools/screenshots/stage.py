"""What is photographed: the demo's shop in a folder of its own, a few days of its life, and Dagster around it."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg

from incremental_assets.cli.commands.demo_site import Site
from incremental_assets.core.config.load import load
from incremental_assets.demo.postgres import EmbeddedPostgres
from incremental_assets.demo.tpch import DATABASE, prepare_shop

ROOT = Path(__file__).parents[2]
SHIPPED = ROOT / "incremental_assets" / "sources.yaml"
MONTHS = "partitions: {every: month, from: 2025-01-01}"
SCALE = Decimal("0.01")
PATIENCE = 600
"""Seconds for anything that Dagster is asked to do: a run starts a JVM."""

_AT_WORK = "{ runsOrError(filter: {statuses: [QUEUED, NOT_STARTED, STARTING, STARTED]}) { ... on Runs { results { runId } } } }"
_LANDED = """
{ assetNodeOrError(assetKey: {path: ["tpch", "public", "orders"]}) {
    ... on AssetNode { partitionKeys assetMaterializations(limit: 500) { runId } } } }
"""
_CHECKED = """
{ assetCheckExecutions(assetKey: {path: ["tpch", "public", "orders"]}, checkName: "reconciliation", limit: 50) { evaluation { success } } }
"""
_LAUNCH = """
mutation { launchRun(executionParams: {mode: "default", selector: {
    jobName: "%s__tpch__job", repositoryName: "__repository__", repositoryLocationName: "incremental_assets"} }) {
    __typename ... on LaunchRunSuccess { run { runId } } ... on PythonError { message } } }
"""
_BACKFILLS = "{ partitionBackfillsOrError { ... on PartitionBackfills { results { id status } } } }"


@dataclass(frozen=True)
class Stage:
    """Dagster's address, and the shop's database."""

    url: str
    server: EmbeddedPostgres

    def connect(self) -> psycopg.Connection:
        """As the shop itself writes: every statement on its own."""
        return psycopg.connect(self.server.dsn(DATABASE), autocommit=True)

    def ask(self, query: str) -> Any:
        """GraphQL, as the pages ask."""
        body, kind = json.dumps({"query": query}).encode(), {"Content-Type": "application/json"}
        with urllib.request.urlopen(urllib.request.Request(f"{self.url}/graphql", body, kind), timeout=60) as answer:
            return json.load(answer)["data"]

    def wait_for_syncs(self, count: int) -> None:
        """Until so many runs have landed orders, and none is under way."""
        wait(lambda: len(self.runs_of_orders()) >= count and self.is_quiet(), f"{count} syncs of orders")

    def runs_of_orders(self) -> set[str]:
        return {event["runId"] for event in self.ask(_LANDED)["assetNodeOrError"]["assetMaterializations"]}

    def launched(self, job: str) -> str:
        """The run of `check` (all of them, as once a day) or `repair`, when it has ended."""
        answer = self.ask(_LAUNCH % job)["launchRun"]
        if answer["__typename"] != "LaunchRunSuccess":
            sys.exit(f"the job {job} could not be launched: {answer}")
        wait(self.is_quiet, f"the job {job}")
        return str(answer["run"]["runId"])

    def partitions_of_orders(self) -> list[str]:
        return list(self.ask(_LANDED)["assetNodeOrError"]["partitionKeys"])

    def reconciliations(self) -> list[bool]:
        """Whether orders passed, each time it was asked; newest first."""
        ended = (each["evaluation"] for each in self.ask(_CHECKED)["assetCheckExecutions"])
        return [each["success"] for each in ended if each]

    def backfills(self) -> dict[str, str]:
        """The status of each."""
        found = self.ask(_BACKFILLS)["partitionBackfillsOrError"]["results"]
        return {each["id"]: each["status"] for each in found}

    @staticmethod
    def today() -> date:
        """Where the grid ends: it is in UTC."""
        return datetime.now(UTC).date()

    def is_quiet(self) -> bool:
        return not self.ask(_AT_WORK)["runsOrError"]["results"]


@contextmanager
def stage() -> Iterator[Stage]:
    """A shop that was never synced, and `incremental-assets dev` around it."""
    with tempfile.TemporaryDirectory(prefix="shop-") as folder:
        config = _configured(Path(folder))
        site = Site.of(load(config))
        site.start(site.shop())
        server = EmbeddedPostgres(site.folder)
        try:
            prepare_shop(server, SCALE, lambda table, rows: print(f"{table}: {rows:,} rows"))
            site.claim()
            with dagster(_home(config)) as url:
                yield Stage(url, server)
        finally:
            server.remove()


def _configured(folder: Path) -> Path:
    """The shipped configuration. The grid is finer, so that sixty days are more than a handful of partitions, and rows that the shop deletes stay: what they
    wait for would come tomorrow, and until then a check would tell of nothing else.
    """
    text = SHIPPED.read_text(encoding="utf-8")
    if MONTHS not in text:
        sys.exit(f"{SHIPPED} no longer says `{MONTHS}`: tools/screenshots/stage.py replaces that line")
    text = re.sub(r"^ *deletes: .*\n", "", text, flags=re.MULTILINE)
    first = Stage.today() - timedelta(weeks=11)  # the dialog of a backfill shows ninety days
    path = folder / "shop" / "sources.yaml"
    path.parent.mkdir()
    path.write_text(
        text.replace(MONTHS, f"partitions: {{every: week, from: {first}}}\n    every: 15s"), encoding="utf-8"
    )
    return path


def _home(config: Path) -> dict[str, str]:
    """The environment of a Dagster of its own."""
    home = config.parents[1] / ".dagster"
    home.mkdir()
    (home / "dagster.yaml").symlink_to(ROOT / "dagster.yaml")
    return os.environ | {"DAGSTER_HOME": str(home), "INCREMENTAL_ASSETS_CONFIG": str(config)}


@contextmanager
def dagster(environment: Mapping[str, str]) -> Iterator[str]:
    """The product's own `dev` on a free port, for as long as somebody looks; gives its address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    # A shell that started this in the background has it ignore Ctrl-C, and what is ignored is inherited.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    command = [str(Path(sys.executable).with_name("incremental-assets")), "dev", "--port", str(port)]
    url = f"http://127.0.0.1:{port}"
    with subprocess.Popen(command, env=dict(environment), start_new_session=True) as process:
        try:
            wait(lambda: _answers(url, process), "Dagster's UI")
            yield url
        finally:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(90)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)


def _answers(url: str, process: subprocess.Popen[bytes]) -> bool:
    if process.poll() is not None:
        sys.exit("`incremental-assets dev` ended by itself; its own message is above")
    try:
        with urllib.request.urlopen(f"{url}/server_info", timeout=5):
            return True
    except OSError:
        return False


def wait(what: Callable[[], object], name: str) -> None:
    """Until it holds."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if what():
            return
        time.sleep(0.5)
    sys.exit(f"{name}: waited {PATIENCE} seconds for it")
