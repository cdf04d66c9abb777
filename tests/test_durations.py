"""The page of the slowest tests is made of what was measured."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime

from tests.durations import page


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
