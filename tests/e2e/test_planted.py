"""Modules that lie in the folder in which somebody types a command: anybody may have put them there, as in /tmp, and none is imported."""

from __future__ import annotations

import json
import socket
import sqlite3
import subprocess
import sys
import time
import urllib.request
from contextlib import closing, suppress
from pathlib import Path

import pytest

from incremental_assets.cli.commands.dev import running_dagster
from tests.shop import wait_for

NAMES = ("contextlib", "incremental_assets", "pyspark", "resources", "types")
ROWS = """
from incremental_assets.adapters.spark.session import open_session
session = open_session()
print(session.range(10).mapInArrow(lambda batches: batches, "id long").count())
session.stop()
"""

SOURCES = """
lake: ./lake
checkpoints: sqlite:///checkpoints.db
sources:
  shop:
    dialect: sqlite
    database: shop.db
    tables:
      - table: main.orders
        strategy: full_refresh
"""


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return taken.getsockname()[1]


def asked(url: str, query: str) -> str:
    request = urllib.request.Request(url, json.dumps({"query": query}).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=10) as answer:
        return answer.read().decode()


def shows_orders(port: int) -> bool:
    time.sleep(1)
    with suppress(OSError):
        return "orders" in asked(f"http://127.0.0.1:{port}/graphql", "{assetNodes{assetKey{path}}}")
    return False


@pytest.fixture
def planted(tmp_path: Path) -> Path:
    for name in NAMES:
        (tmp_path / f"{name}.py").write_text(f"raise SystemExit('{name} was planted')")
    return tmp_path


def test_the_python_workers_of_a_run_import_nothing_from_there(planted: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-P", "-c", ROWS], cwd=planted, capture_output=True, text=True, check=False, timeout=180
    )
    assert (done.stdout.strip(), "planted" in done.stderr) == ("10", False)


@pytest.mark.acceptance
def test_dagster_s_processes_take_neither_modules_nor_variables_from_there(
    planted: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = tmp_path_factory.mktemp("ours")
    with closing(sqlite3.connect(ours / "shop.db")) as shop:
        shop.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY)")
    (ours / "sources.yaml").write_text(SOURCES)
    (planted / ".env").write_text(f"DAGSTER_HOME={planted}/nowhere\n")
    monkeypatch.chdir(planted)
    monkeypatch.setenv("DAGSTER_HOME", str(ours))
    monkeypatch.setenv("INCREMENTAL_ASSETS_CONFIG", str(ours / "sources.yaml"))
    port = free_port()
    with running_dagster(port, ours / "dev.log", ours) as process:
        assert wait_for(lambda: shows_orders(port), process), (ours / "dev.log").read_text()
