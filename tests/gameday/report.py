"""`docs/gameday.json` and the page beside it, from the games that were played: `make gameday` writes them. A game that is played alone renews its own part."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.gameday.conftest import GAME
from tests.gameday.page import page


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--games`."""
    parser.addoption(
        "--games", type=Path, metavar="FILE", help="write what was played as JSON, and as a page beside it"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Only where it is asked for."""
    path = config.getoption("--games")
    if path is not None:
        config.pluginmanager.register(Report(path), "games")


class Report:
    """Listens to the run, and writes at its end."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._played: dict[str, dict[str, Any]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """What became of a game."""
        if report.when == "call" and report.failed:
            self._played[report.nodeid] = {"failed": True}
        told = next((text for name, text in report.user_properties if name == GAME), None)
        if report.when == "teardown" and told is not None:
            when = f"{datetime.now(UTC):%Y-%m-%d %H:%M}Z"
            failed = report.nodeid in self._played
            self._played[report.nodeid] = {"played": when, "failed": failed, **json.loads(str(told))}
            self._write()

    def _write(self) -> None:
        """After each game, as the next one may take long."""
        kept = json.loads(self._path.read_text(encoding="utf-8")) if self._path.is_file() else {}
        games = dict(sorted({**kept, **self._played}.items()))
        self._path.write_text(json.dumps(games, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        self._path.with_suffix(".md").write_text(page(games), encoding="utf-8")
