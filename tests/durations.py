"""How long each test takes: `pytest -p tests.durations --durations-table FILE` writes the forty slowest, with set-up and tear-down, as a page."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import pytest

SLOWEST = 40


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--durations-table`."""
    parser.addoption("--durations-table", type=Path, metavar="FILE", help="write the slowest tests as a page")


def pytest_configure(config: pytest.Config) -> None:
    """Only in the process that hears of all tests."""
    path = config.getoption("--durations-table")
    if path is not None and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Table(path), "durations-table")


class Table:
    """Adds up what it hears."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seconds, self._markers = Counter[str](), dict[str, str]()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Set-up, call and tear-down of a test are told one by one."""
        self._seconds[report.nodeid] += report.duration
        self._markers[report.nodeid] = "acceptance" if "acceptance" in report.keywords else "test"

    def pytest_sessionfinish(self) -> None:
        """The page as a whole."""
        self._path.write_text(page(self._seconds, self._markers, datetime.now(UTC)), encoding="utf-8")


def page(seconds: Counter[str], targets: dict[str, str], when: datetime) -> str:
    """The sums by target and folder, then the slowest tests."""
    sums = Counter[tuple[str, str]]()
    for name, took in seconds.items():
        sums[targets[name], _folder(name)] += took  # type: ignore[assignment]
    folders = "".join(f"| {target} | `{folder}` | {took:,.0f} |\n" for (target, folder), took in sums.most_common())
    slowest = "".join(f"| {took:.1f} | {targets[name]} | `{name}` |\n" for name, took in seconds.most_common(SLOWEST))
    return (
        "# How long the tests take\n\n"
        f"Seconds of {len(seconds):,} tests with their set-up, on {when:%Y-%m-%d}, two workers beside each other: `make durations` writes this page.\n"
        "The set-up of what a whole run shares (PostgreSQL, the Spark session) stands at the first test that asks for it.\n\n"
        f"| target | folder | seconds |\n|---|---|---:|\n{folders}\n"
        f"| seconds | target | the {SLOWEST} slowest |\n|---:|---|---|\n{slowest}"
    )


def _folder(name: str) -> str:
    return "/".join(name.split("::", maxsplit=1)[0].split("/")[:2])
