"""A Prometheus of its own on loopback, which has the history and what the rules record of it."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from incremental_assets.cli.commands.alerts import rules
from tools.dashboards.history import BEGINS, ENDS, text

ROOT = Path(__file__).parents[2]
STEP = 60
OF_GRAFANA = {"$__rate_interval": "5m", "$source": ".*", "$table": ".*"}
_ROUNDS = 2
"""Rules that record build on others, and each round has what the one before has made."""


@dataclass(frozen=True)
class Answer:
    """One series."""

    labels: Mapping[str, str]
    points: Sequence[tuple[float, float]]


class Prometheus:
    """Answers queries over the whole history."""

    def __init__(self, port: int) -> None:
        self._at = f"http://127.0.0.1:{port}"

    def ask(self, expression: str) -> list[Answer]:
        """As Grafana asks, of all sources and tables."""
        for variable, value in OF_GRAFANA.items():
            expression = expression.replace(variable, value)
        query = {"query": expression, "start": BEGINS.timestamp(), "end": ENDS.timestamp(), "step": STEP}
        found = self._get(f"/api/v1/query_range?{urllib.parse.urlencode(query)}")
        return [
            # Of a quantile, NaN says that nothing ended.
            Answer(each["metric"], [(float(at), float(value)) for at, value in each["values"] if value != "NaN"])
            for each in found["data"]["result"]
        ]

    def wait(self) -> None:
        """Until it answers."""
        deadline = time.monotonic() + 30
        while True:
            try:
                self._get("/api/v1/status/runtimeinfo")
            except OSError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.1)
            else:
                return

    def _get(self, path: str) -> Any:
        with urllib.request.urlopen(self._at + path, timeout=30) as answer:
            return json.load(answer)


@contextmanager
def prometheus(folder: Path) -> Iterator[Prometheus]:
    """With the history, in an empty folder."""
    data, written = folder / "data", folder / "history.txt"
    written.write_text(text(), encoding="utf-8")
    _promtool("create-blocks-from", "openmetrics", str(written), str(data))
    groups = rules("")["groups"][:1]
    (folder / "rules.yaml").write_text(yaml.safe_dump({"groups": groups}), encoding="utf-8")
    (folder / "prometheus.yaml").write_text("{}\n", encoding="utf-8")
    for _ in range(_ROUNDS):
        with _served(folder, data) as (_, port):
            window = ("--start", str(int(BEGINS.timestamp())), "--end", str(int(ENDS.timestamp())))
            _promtool(
                "create-blocks-from", "rules", *window, "--url", f"http://127.0.0.1:{port}",
                "--eval-interval", f"{STEP}s", "--output-dir", str(folder / "recorded"), str(folder / "rules.yaml"),
            )  # fmt: skip
        for block in (folder / "recorded").iterdir():
            shutil.move(block, data / block.name)
    with _served(folder, data) as (found, _):
        yield found


@contextmanager
def _served(folder: Path, data: Path) -> Iterator[tuple[Prometheus, int]]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = (
        f"--config.file={folder / 'prometheus.yaml'}",
        f"--storage.tsdb.path={data}",
        "--storage.tsdb.retention.time=100y",
        f"--web.listen-address=127.0.0.1:{port}",
        "--log.level=error",
    )
    process = subprocess.Popen([program("prometheus"), *options])
    try:
        found = Prometheus(port)
        found.wait()
        yield found, port
    finally:
        process.terminate()
        process.wait(30)


def program(name: str) -> str:
    """Where it is; FileNotFoundError where it cannot be had."""
    subprocess.run([ROOT / ".ci" / "prometheus.sh"], check=False, capture_output=True)
    found = shutil.which(name) or ROOT / ".prometheus" / name
    if not Path(found).exists():
        raise FileNotFoundError(f"{name} is missing: install prometheus")
    return str(found)


def _promtool(*arguments: str) -> None:
    subprocess.run([program("promtool"), "tsdb", *arguments], check=True, capture_output=True)
