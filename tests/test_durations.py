"""The page of the slowest tests is made of what was measured."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

from tests.durations import page

ROOT = Path(__file__).parents[1]


def _played(target: str) -> str:
    """Which tests a target asks pytest for."""
    told = subprocess.run(["make", "-n", target], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    (command,) = (line for line in told.splitlines() if "/pytest " in line)
    found = re.search(r'-m "([^"]+)"', command)
    assert found is not None, command
    return found[1]


def test_they_are_measured_of_what_make_test_plays() -> None:
    assert _played("durations") == _played("test") == "not acceptance"


def test_the_page_names_the_slowest_first_and_sums_by_folder() -> None:
    seconds = Counter({"tests/core/test_plan.py::test_a": 0.25, "tests/e2e/test_demo.py::test_b": 90.0})
    targets = {"tests/core/test_plan.py::test_a": "test", "tests/e2e/test_demo.py::test_b": "acceptance"}
    lines = page(seconds, targets, datetime(2026, 11, 23, tzinfo=UTC)).splitlines()
    assert (
        "Seconds of 2 tests with their set-up, on 2026-11-23, two workers beside each other: `make durations` writes this page."
        in lines
    )
    assert lines.index("| acceptance | `tests/e2e` | 90 |") < lines.index("| test | `tests/core` | 0 |")
    assert lines[-2:] == [
        "| 90.0 | acceptance | `tests/e2e/test_demo.py::test_b` |",
        "| 0.2 | test | `tests/core/test_plan.py::test_a` |",
    ]


def test_each_test_on_the_page_is_there() -> None:
    named = re.findall(r"`(tests/\S+?\.py)::(\w+)", (ROOT / "docs" / "durations.md").read_text(encoding="utf-8"))
    there = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("*.py"))
    assert named
    assert [each for each in named if not (ROOT / each[0]).exists() or f"def {each[1]}(" not in there] == []
