"""What was played and what came of it, kept beside the report as JSON: a part that is played again renews its own rows."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import pytest

NOT_RUN = "not run"
NOT_HERE = "does not apply: "
"""How the reason of a scenario begins that a database gives no occasion for."""
WORST = ("failed", NOT_RUN, "limit", "holds", NOT_HERE)
_WORDS = {"holds": "holds", "limit": "**limit**", "failed": "**FAILS**", NOT_RUN: "not run", NOT_HERE: "–"}
MAIN = "PostgreSQL"
"""What a scenario is played on that names no database."""
BY_LOG = "PostgreSQL's log"
"""What one is played on whose tables are read from there."""
BINLOGS = {"mariadb-log": "MariaDB's binlog", "mysql-log": "MySQL's binlog"}
"""Likewise of these databases."""
TOPICS = "topics of Kafka"
"""What one is played on whose tables are read from these."""
FILES = "files"
"""What one is played on whose tables are made of these."""
IN_STORE = "a lake in S3"
"""What one is played on whose copies are in a store of objects."""
ON_CLUSTER = "a cluster"
"""What one is played on whose rows are read and written by the workers of a cluster, to copies in a store of objects."""
_ROOT = Path(__file__).parents[2]


@dataclass
class Case:
    """One test, whole: its set-up and clean-up as well."""

    outcome: str = NOT_RUN
    why: str = ""
    seconds: float = 0.0
    properties: dict[str, str] = field(default_factory=dict)

    def add(self, phase: pytest.TestReport) -> None:
        """One of its three phases."""
        self.seconds += phase.duration
        self.properties |= {name: str(value) for name, value in phase.user_properties}
        if phase.failed:
            self.outcome = "failed"
        elif phase.when == "call" and phase.passed:
            self.outcome = "holds"
        elif phase.skipped:
            self.outcome = "limit" if hasattr(phase, "wasxfail") else NOT_RUN
            self.why = getattr(phase, "wasxfail", "") or _reason(phase)
            if self.why.startswith(NOT_HERE):
                self.outcome, self.why = NOT_HERE, self.why.removeprefix(NOT_HERE)


@dataclass
class Row:
    """A scenario with all of its cases on one database."""

    mark: Mapping[str, Any]
    played: str = ""
    """The minute in which it began, and the commit that was played."""
    cases: list[Case] = field(default_factory=list)
    database: str = MAIN

    @property
    def seconds(self) -> float:
        """Of all of them."""
        return sum(case.seconds for case in self.cases)

    @property
    def outcome(self) -> str:
        """That of its worst case."""
        return min((case.outcome for case in self.cases), key=WORST.index)

    @property
    def told(self) -> str:
        """The same for the table."""
        good = sum(case.outcome == "holds" for case in self.cases)
        whys = "; ".join(sorted({case.why for case in self.cases if case.why}))
        counted = f" ({good} of {len(self.cases)} cases)" if len(self.cases) > 1 else ""
        word = _WORDS[self.outcome]
        measured = "; ".join(case.properties["measured"] for case in self.cases if "measured" in case.properties)
        return f"{word}{counted}" + "".join(f": {more}" for more in (whys, measured) if more)


@dataclass
class Played:
    """The whole report's rows, by the tests that play them."""

    rows: dict[str, Row] = field(default_factory=dict)
    mutants: dict[str, Case] = field(default_factory=dict)

    @classmethod
    def of(cls, report: Path) -> Played:
        """As it was kept beside a report; empty where nothing was."""
        file = report.with_suffix(".json")
        if not file.is_file():
            return cls()
        kept = json.loads(file.read_text(encoding="utf-8"))
        rows = {
            test: Row(
                each["mark"], each["played"], [Case(**case) for case in each["cases"]], each.get("database", MAIN)
            )
            for test, each in kept["rows"].items()
        }
        return cls(rows, {test: Case(**case) for test, case in kept["mutants"].items()})

    def in_order(self) -> list[Row]:
        """By the number of the scenario, then by the test."""
        return [
            row for _, row in sorted(self.rows.items(), key=lambda item: (_number(item[1].mark["number"]), item[0]))
        ]

    def renew(self, rows: Mapping[str, Row], mutants: Mapping[str, Case], *, is_whole: bool) -> None:
        """Take what was played now in place of what was; of the rest, what is still a test stays, unless all was played."""
        if is_whole:
            # A process has one session, so that what a cluster has done is never played with the rest.
            self.rows, self.mutants = {test: row for test, row in self.rows.items() if row.database == ON_CLUSTER}, {}
        self.rows = {test: row for test, row in self.rows.items() if _is_there(test)}
        # A test that the end of its run cut short says nothing against what it said before.
        self.rows |= {test: row for test, row in rows.items() if row.outcome != NOT_RUN or test not in self.rows}
        self.mutants = self.mutants | dict(mutants)

    def save(self, report: Path) -> None:
        """Keep it beside the report."""
        report.parent.mkdir(parents=True, exist_ok=True)
        kept = {
            name: {test: asdict(each) for test, each in sorted(getattr(self, name).items())}
            for name in ("rows", "mutants")
        }
        report.with_suffix(".json").write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def now_played() -> str:
    """The minute in which it is asked, and the commit that lies here."""
    return " ".join(filter(None, (f"{datetime.now(UTC):%Y-%m-%d %H:%M}", _commit())))


def when_played(rows: Sequence[Row]) -> str:
    """When the first and the last of them began."""
    begun = sorted({row.played for row in rows})
    return f"from {begun[0]} to {begun[-1]}" if len(begun) > 1 else f"at {''.join(begun)}"


@cache
def _commit() -> str:
    """That of the beginning: what has been imported stays, whatever lies here later."""
    head = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=_ROOT, capture_output=True, text=True, check=False
    )
    return head.stdout.strip()


def _is_there(test: str) -> bool:
    file, _, name = test.partition(" on ")[0].partition("::")
    path = _ROOT / file
    return path.is_file() and f"def {name}(" in path.read_text(encoding="utf-8")


def _number(text: str) -> tuple[int, str]:
    digits = re.search(r"\d+", text)
    return int(digits[0]) if digits else 99, text


def _reason(phase: pytest.TestReport) -> str:
    return str(phase.longrepr[2]).removeprefix("Skipped: ") if isinstance(phase.longrepr, tuple) else ""
