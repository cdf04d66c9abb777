"""The fault report: what was done, what must hold, and whether it did. Loaded by `make conformance`, which names the file.

`--engine` plays the same through an engine, `--plane=spark` by Spark's own writers, and each writes its section of the report. A part that is played (`-k clock`, or some files) renews its own rows, and
the others stay as they were played last. `python -m pytest tests/conformance tests/model/test_mutants.py -p tests.conformance.report --report docs/conformance.md`, in one process
or, with `-n 2`, in two.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
from collections import defaultdict
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.played import MAIN, NOT_HERE, WORST, Case, Played, Row, now_played, when_played
from tests.conformance.sections import AFTER_SOAK, ENGINE, SPARK_PLANE, WAYS, Way, renew_way, soak, table
from tests.conformance.worlds import TITLES

_MARK = "scenario"
_ALL = {"tests/conformance", "tests/model/test_mutants.py"}
"""What `make conformance` names."""


class Report:
    """Listens to the run, whoever plays the tests, and writes at its end."""

    def __init__(self, path: Path, *, is_whole: bool, way: Way | None) -> None:
        self._path, self._is_whole = path, is_whole
        self._way = way
        self._rows: dict[str, Row] = {}
        self._mutants: dict[str, Case] = {}
        self._cases: dict[str, Case] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """What became of a test, in one of its phases."""
        if report.nodeid not in self._cases:
            self._begin(report)
        self._cases[report.nodeid].add(report)

    def _begin(self, report: pytest.TestReport) -> None:
        case = self._cases[report.nodeid] = Case()
        mark = next((text for name, text in report.user_properties if name == _MARK), None)
        if mark is not None:
            # Parametrized cases share a row for each database.
            told = json.loads(str(mark))
            test, database = report.nodeid.partition("[")[0], told.pop("database", MAIN)
            name = test if database == MAIN else f"{test} on {database}"
            self._rows.setdefault(name, Row(told, now_played(), database=database)).cases.append(case)
        elif "test_a_known_bad_variant_is_killed" in report.nodeid:
            self._mutants[report.nodeid] = case

    def pytest_sessionfinish(self, exitstatus: int) -> None:
        """Write the file."""
        self._is_whole &= exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)
        # What was played in another way has a section of its own.
        path = self._path if self._way is None else self._way.report(self._path)
        kept = Played.of(path)
        kept.renew(self._rows, self._mutants if self._way is None else {}, is_whole=self._is_whole)
        kept.save(path)
        if self._way is not None:
            if self._path.is_file():
                renew_way(self._path, self._way)
            return
        text = "\n".join(_lines(self._path, kept)) + "\n"
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._path.write_text(text, encoding="utf-8")

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Say where it is."""
        held = sum(row.outcome == "holds" for row in self._rows.values())
        terminalreporter.write_line(f"{self._path}: {held} of {len(self._rows)} scenarios hold")


def _lines(path: Path, played: Played) -> Iterable[str]:
    rows, mutants = played.in_order(), played.mutants
    seconds = sum(row.seconds for row in rows)
    killed = sum(case.outcome == "holds" for case in mutants.values())
    yield "# Fault report"
    yield ""
    yield "Written by `make conformance`: every scenario was played on a real database, a real Spark and real Delta tables by the product's own sync."
    yield f"**{_held(rows)}; {killed} of {len(mutants)} known-bad variants were noticed**, in {seconds / 60:.0f} minutes of play."
    yield ""
    yield f"{_machine()}. {_versions(rows)}. Played {when_played(rows)}."
    yield ""
    yield "## By database"
    yield ""
    yield from by_database(rows)
    yield ""
    yield "## Scenarios"
    yield ""
    yield "An empty cell: on that database nobody has played it. –: it does not apply there, and why."
    yield ""
    yield from _scenarios(rows)
    yield ""
    for way in WAYS:
        yield from way.lines(path)
    yield from soak(path.with_name("soak.json"))
    yield AFTER_SOAK
    yield ""
    yield "Public reports of other tools, each restated as the scenario above that we pass. They may have been mended there since."
    yield ""
    yield from table(("report", "as a scenario", "here"), sorted(_bugs(rows)))
    yield ""
    yield "## Known-bad variants"
    yield ""
    yield "The suite is only worth what it notices. Each variant is the protocol with one thought left out; the model or a story must kill it."
    yield ""
    yield from table(
        ("variant", "what it does", "killed by", "seconds"),
        [
            (
                case.properties.get("mutant", nodeid),
                case.properties.get("harm", ""),
                case.properties.get("killer", "") or "**SURVIVED**",
                f"{float(case.properties.get('seconds', case.seconds)):.2f}",
            )
            for nodeid, case in sorted(mutants.items())
        ],
    )


def by_database(rows: Sequence[Row]) -> Iterable[str]:
    """How many scenarios of each number hold on each database."""
    numbers = dict.fromkeys(row.mark["number"] for row in rows)
    yield from table(
        ("", *TITLES.values()),
        [
            (
                number,
                *(
                    _sum([row for row in rows if (row.mark["number"], row.database) == (number, title)])
                    for title in TITLES.values()
                ),
            )
            for number in numbers
        ],
    )


def _sum(rows: Sequence[Row]) -> str:
    played = [row for row in rows if row.outcome != NOT_HERE]
    if not played:
        return "; ".join(row.told for row in rows)
    good = sum(row.outcome == "holds" for row in played)
    return f"{good} of {len(played)} hold" if good < len(played) else f"{good} hold" if good > 1 else "holds"


def _held(rows: Sequence[Row]) -> str:
    told = []
    for title in TITLES.values():
        played = [row for row in rows if row.database == title and row.outcome != NOT_HERE]
        if played:
            told.append(f"{sum(row.outcome == 'holds' for row in played)} of {len(played)} scenarios hold on {title}")
    return ", ".join(told) or "no scenario was played"


def _scenarios(rows: Sequence[Row]) -> Iterable[str]:
    by_test: dict[tuple[str, str, str], dict[str, Row]] = {}
    for row in rows:
        by_test.setdefault((row.mark["number"], row.mark["done"], row.mark["holds"]), {})[row.database] = row
    yield from table(
        ("", "what was done", "what must hold", *TITLES.values(), "seconds"),
        [
            (
                *told,
                *(on[title].told if title in on else "" for title in TITLES.values()),
                f"{sum(row.seconds for row in on.values()):.0f}",
            )
            for told, on in by_test.items()
        ],
    )


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--report FILE`."""
    parser.addoption("--report", metavar="FILE", help="run every scenario and write the fault report here")


def plays_all(arguments: Sequence[str], options: argparse.Namespace) -> bool:
    """Whether no scenario and no variant is left out, so that what is not played is there no more."""
    return set(arguments) >= _ALL and not (
        options.keyword or options.markexpr or options.deselect or getattr(options, "cluster", False)
    )


def pytest_configure(config: pytest.Config) -> None:
    """Begin to listen, but for workers, whose results come to whoever began them."""
    path = config.getoption("--report")
    if path is not None and not hasattr(config, "workerinput"):
        report = Report(Path(path), is_whole=plays_all(config.args, config.option), way=_way(config))
        config.pluginmanager.register(report, "fault-report")


def _way(config: pytest.Config) -> Way | None:
    if config.getoption("--plane", default="tasks") == "spark":
        return SPARK_PLANE
    return ENGINE if config.getoption("--engine", default=False) else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The mark travels with the results."""
    for item in items:
        mark = item.get_closest_marker("scenario")
        if mark is not None:
            params = item.callspec.params if hasattr(item, "callspec") else {}
            database = params.get("world", params.get("binlog", params.get("stored")))
            told = {**mark.kwargs, **({"database": TITLES[database]} if database else {})}
            item.user_properties.append((_MARK, json.dumps(told)))


def _bugs(rows: Sequence[Row]) -> Iterable[tuple[str, str, str]]:
    by_bug: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        for bug in row.mark["bugs"]:
            by_bug[bug].append(row)
    for bug, restated in by_bug.items():
        scenarios = "; ".join(dict.fromkeys(f"{row.mark['number']}: {row.mark['done']}" for row in restated))
        yield bug, scenarios, min((row.outcome for row in restated), key=WORST.index)


def _machine() -> str:
    pages = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return f"{len(os.sched_getaffinity(0))} cores, {pages / 2**30:.0f} GiB, {platform.system()} {platform.machine()}"


def _versions(rows: Sequence[Row]) -> str:
    names = {"pyspark": "Spark", "delta-spark": "Delta", "dagster": "Dagster"}
    told = ", ".join(f"{name} {version(package)}" for package, name in names.items())
    servers = sorted({case.properties["server"] for row in rows for case in row.cases if "server" in case.properties})
    return ", ".join((told, *servers, f"Python {platform.python_version()}"))
