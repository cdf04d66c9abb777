"""The fault report: what was done, what must hold, and whether it did. Loaded by `make conformance`, which names the file.

`--engine` plays the same through an engine, and writes that section of the report. A part that is played (`-k clock`, or some files) renews its own rows, and
the others stay as they were played last. `python -m pytest tests/conformance tests/model/test_mutants.py -p tests.conformance.report --report docs/conformance.md`, in one process
or, with `-n 2`, in two.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.played import WORST, Case, Played, Row, now_played

_MARK = "scenario"
_ALL = {"tests/conformance", "tests/model/test_mutants.py"}
"""What `make conformance` names."""


class Report:
    """Listens to the run, whoever plays the tests, and writes at its end."""

    def __init__(self, path: Path, *, is_whole: bool, through_engine: bool) -> None:
        self._path, self._begun, self._is_whole = path, time.monotonic(), is_whole
        self._through_engine = through_engine
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
            # Parametrized cases share a row.
            self._rows.setdefault(
                report.nodeid.partition("[")[0], Row(json.loads(str(mark)), played=now_played())
            ).cases.append(case)
        elif "test_a_known_bad_variant_is_killed" in report.nodeid:
            self._mutants[report.nodeid] = case

    def pytest_sessionfinish(self, exitstatus: int) -> None:
        """Write the file."""
        self._is_whole &= exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)
        if self._through_engine:
            self._keep()
            return
        kept = Played.of(self._path)
        kept.renew(self._rows, self._mutants, is_whole=self._is_whole)
        kept.save(self._path)
        text = "\n".join(_lines(self._path, kept)) + "\n"
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._path.write_text(text, encoding="utf-8")

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Say where it is."""
        held = sum(row.outcome == "holds" for row in self._rows.values())
        terminalreporter.write_line(f"{self._path}: {held} of {len(self._rows)} scenarios hold")

    def _keep(self) -> None:
        """What was played through an engine has a section of its own, in a report that was written without one."""
        rows = [
            (row.mark["number"], row.mark["done"], row.mark["holds"], row.told, f"{row.seconds:.0f}")
            for row in _sorted(self._rows)
        ]
        kept = {
            "date": f"{datetime.now(UTC):%Y-%m-%d}",
            "minutes": round((time.monotonic() - self._begun) / 60),
            "is_whole": self._is_whole,
            "held": sum(row.outcome == "holds" for row in self._rows.values()),
            "rows": rows,
        }
        self._path.parent.mkdir(parents=True, exist_ok=True)
        _engine_file(self._path).write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        if self._path.is_file():
            renew_engine(self._path)


def _lines(path: Path, played: Played) -> Iterable[str]:
    rows, mutants = _sorted(played.rows), played.mutants
    held, seconds = sum(row.outcome == "holds" for row in rows), sum(row.seconds for row in rows)
    killed = sum(case.outcome == "holds" for case in mutants.values())
    yield "# Fault report"
    yield ""
    yield "Written by `make conformance`: every scenario was played on a real PostgreSQL, a real Spark and real Delta tables by the product's own sync."
    yield f"**{held} of {len(rows)} scenarios hold, {killed} of {len(mutants)} known-bad variants were noticed**, in {seconds / 60:.0f} minutes of play."
    yield ""
    yield f"{_machine()}. {_versions()}. Played from {min((row.played for row in rows), default='')} to {max((row.played for row in rows), default='')}."
    yield ""
    yield "## Scenarios"
    yield ""
    yield from _table(
        ("", "what was done", "what must hold", "result", "seconds"),
        [(row.mark["number"], row.mark["done"], row.mark["holds"], row.told, f"{row.seconds:.0f}") for row in rows],
    )
    yield ""
    yield from _engine(_engine_file(path))
    yield from _soak(path.with_name("soak.json"))
    yield _AFTER_SOAK
    yield ""
    yield "Public reports of other tools, each restated as the scenario above that we pass. They may have been mended there since."
    yield ""
    yield from _table(("report", "as a scenario", "here"), sorted(_bugs(rows)))
    yield ""
    yield "## Known-bad variants"
    yield ""
    yield "The suite is only worth what it notices. Each variant is the protocol with one thought left out; the model or a story must kill it."
    yield ""
    yield from _table(
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


def _sorted(rows: dict[str, Row]) -> list[Row]:
    return [row for _, row in sorted(rows.items(), key=lambda item: (_number(item[1].mark["number"]), item[0]))]


_SOAK = "## Soak"
_AFTER_SOAK = "## Bugs we do not have"
_ENGINE = "## Through an engine"


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--report FILE`."""
    parser.addoption("--report", metavar="FILE", help="run every scenario and write the fault report here")


def plays_all(arguments: Sequence[str], options: argparse.Namespace) -> bool:
    """Whether no scenario and no variant is left out, so that what is not played is there no more."""
    return set(arguments) >= _ALL and not (options.keyword or options.markexpr or options.deselect)


def pytest_configure(config: pytest.Config) -> None:
    """Begin to listen, but for workers, whose results come to whoever began them."""
    path = config.getoption("--report")
    if path is not None and not hasattr(config, "workerinput"):
        through_engine = bool(config.getoption("--engine", default=False))
        report = Report(Path(path), is_whole=plays_all(config.args, config.option), through_engine=through_engine)
        config.pluginmanager.register(report, "fault-report")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The mark travels with the results."""
    for item in items:
        mark = item.get_closest_marker("scenario")
        if mark is not None:
            item.user_properties.append((_MARK, json.dumps(mark.kwargs)))


def _bugs(rows: Sequence[Row]) -> Iterable[tuple[str, str, str]]:
    by_bug: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        for bug in row.mark["bugs"]:
            by_bug[bug].append(row)
    for bug, restated in by_bug.items():
        scenarios = "; ".join(f"{row.mark['number']}: {row.mark['done']}" for row in restated)
        yield bug, scenarios, min((row.outcome for row in restated), key=WORST.index)


def _engine_file(report: Path) -> Path:
    return report.with_name(f"{report.stem}-engine.json")


def _engine(file: Path) -> Iterable[str]:
    """What `make conformance ARGS=--engine` last came to."""
    if not file.is_file():
        return
    found = json.loads(file.read_text(encoding="utf-8"))
    yield _ENGINE
    yield ""
    played = "every scenario" if found["is_whole"] else "**a part** of the scenarios"
    yield (
        f"`make conformance ARGS=--engine` plays {played} with the sessions of an engine that runs share, instead of a session of the run's own: "
        f"**{found['held']} of {len(found['rows'])} hold**, in {found['minutes']} minutes, {found['date']}."
    )
    yield ""
    yield from _table(("", "what was done", "what must hold", "result", "seconds"), found["rows"])
    yield ""


def renew_engine(report: Path) -> None:
    """Put what was just played through an engine into a report that is there."""
    text = report.read_text(encoding="utf-8")
    end = min(text.index(heading) for heading in (_SOAK, _AFTER_SOAK) if heading in text)
    section = "".join(f"{line}\n" for line in _engine(_engine_file(report)))
    report.write_text(text[:end].partition(_ENGINE)[0] + section + text[end:], encoding="utf-8")


def _soak(file: Path) -> Iterable[str]:
    """What `make soak` last came to."""
    if not file.is_file():
        return
    found = json.loads(file.read_text(encoding="utf-8"))
    yield _SOAK
    yield ""
    lost, weak, doubled = (
        sum(told[name] for told in found["tables"].values()) for name in ("lost_settled", "lost_otherwise", "doubled")
    )
    yield (
        f"`make soak`, {found['minutes']:.0f} minutes: rows lived under {found['transactions']:,} transactions of pgbench, one in fifty slow and one in fifty undone, "
        f"and beside them every writer of the table below. The syncing process was killed {found['kills']} times, every third time it synced through an engine, which another "
        f"user attacked {found['attacks']} times; the source's clock was set {len(found['clock_steps'])} times, back by up to {-min(found['clock_steps'], default=0)} s. "
        f"{found['syncs']:,} syncs landed; they read {found['rows_read']:,} rows, {found['rows_read_twice']:,} of them a second time, and {found['rows_late']:,} had committed late. "
        f"The copies were looked at {found['looks']} times. **Lost under `settled`: {lost}; doubled: {doubled}; lost under a weaker guarantee, which the runs had stated: {weak}; "
        f"faults of every kind: {len(found['faults'])}.** Seed {found['seed']}."
    )
    yield ""
    yield from _table(
        ("table", "rows", "runs by guarantee", "lost under `settled`", "lost otherwise", "doubled"),
        [
            (
                name,
                f"{told['rows']:,}",
                ", ".join(f"{count} {word}" for word, count in told["runs"].items()),
                *(str(told[key]) for key in ("lost_settled", "lost_otherwise", "doubled")),
            )
            for name, told in found["tables"].items()
        ],
    )
    yield ""


def renew_soak(report: Path) -> None:
    """Put what `make soak` has just come to into a report that is there."""
    before, following, after = report.read_text(encoding="utf-8").partition(_AFTER_SOAK)
    before = before.partition(f"{_SOAK}\n")[0]
    soak = "".join(f"{line}\n" for line in _soak(report.with_name("soak.json")))
    report.write_text(before + soak + following + after, encoding="utf-8")


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterable[str]:
    yield "| " + " | ".join(heads) + " |"
    yield "|" + "---|" * len(heads)
    for row in rows:
        yield "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in row) + " |"


def _number(text: str) -> tuple[int, str]:
    digits = re.search(r"\d+", text)
    return int(digits[0]) if digits else 99, text


def _machine() -> str:
    pages = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return f"{len(os.sched_getaffinity(0))} cores, {pages / 2**30:.0f} GiB, {platform.system()} {platform.machine()}"


def _versions() -> str:
    names = {"pyspark": "Spark", "delta-spark": "Delta", "dagster": "Dagster"}
    told = ", ".join(f"{name} {version(package)}" for package, name in names.items())
    return f"{told}, PostgreSQL 18, Python {platform.python_version()}"
