"""A real Prometheus that scrapes the exporter every second, and evaluates the hurried rules as often."""

from __future__ import annotations

import json
import subprocess
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.e2e.stand import free_port
from tests.gameday.hurried import hurried
from tools.dashboards.server import program

_PREFIX = "IncrementalAssets"
_SERVICE = {
    "global": {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"},
    "rule_files": ["rules.yaml"],
}


@dataclass(frozen=True)
class Alarm:
    """An alert that is pending or fires. `since`: when its expression began to hold."""

    name: str
    of: str
    severity: str
    state: str
    since: float
    summary: str
    runbook: str

    @property
    def is_slow(self) -> bool:
        return self.name.endswith("BudgetBurns") and self.severity == "ticket"


class Watch:
    """Asks Prometheus."""

    def __init__(self, port: str) -> None:
        self._at = f"http://127.0.0.1:{port}"

    def alarms(self) -> list[Alarm]:
        """All of now."""
        return [_alarm(each) for each in self._get("/api/v1/alerts")["data"]["alerts"]]

    def firing(self) -> set[str]:
        """The names of those that fire, but for what burns slowly: such a ticket stays for as long as its windows are, hours, or minutes here."""
        return {each.name for each in self.alarms() if each.state == "firing" and not each.is_slow}

    def value(self, expression: str) -> float | None:
        """Of an expression with one sample."""
        found = self._get(f"/api/v1/query?{urllib.parse.urlencode({'query': expression})}")["data"]["result"]
        return float(found[0]["value"][1]) if found else None

    def is_there(self) -> bool:
        try:
            self._get("/api/v1/status/runtimeinfo")
        except OSError:
            return False
        return True

    def _get(self, path: str) -> Any:
        with urllib.request.urlopen(self._at + path, timeout=30) as answer:
            return json.load(answer)


def _alarm(found: Any) -> Alarm:
    labels, notes = found["labels"], found["annotations"]
    of = " ".join(labels[name] for name in ("source", "table") if name in labels)
    return Alarm(
        labels["alertname"].removeprefix(_PREFIX),
        of,
        labels["severity"],
        found["state"],
        # Go writes nanoseconds.
        datetime.fromisoformat(found["activeAt"][:19] + "+00:00").timestamp(),
        notes["summary"],
        Path(notes["runbook_url"]).stem,
    )


@contextmanager
def watching(folder: Path, exporter: str) -> Iterator[Watch]:
    """Until the block ends."""
    try:
        prometheus = program("prometheus")
    except FileNotFoundError as missing:
        pytest.skip(str(missing))
    folder.mkdir()
    scraped = [{"job_name": "incremental-assets", "static_configs": [{"targets": [f"127.0.0.1:{exporter}"]}]}]
    (folder / "prometheus.yaml").write_text(yaml.safe_dump({**_SERVICE, "scrape_configs": scraped}))
    (folder / "rules.yaml").write_text(yaml.safe_dump(hurried(), width=1_000_000))
    port = free_port()
    options = (
        f"--config.file={folder / 'prometheus.yaml'}",
        f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address=127.0.0.1:{port}",
        "--log.level=error",
        # As it would after minutes, it forgets after seconds what an alert was that fired when it was started.
        "--rules.alert.for-outage-tolerance=0s",
    )
    process = subprocess.Popen([prometheus, *options])
    try:
        watch, deadline = Watch(port), time.monotonic() + 30
        while not watch.is_there():
            assert time.monotonic() < deadline, "Prometheus does not answer"
            time.sleep(0.1)
        yield watch
    finally:
        process.terminate()
        process.wait(30)
