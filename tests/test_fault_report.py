"""What the published fault report says of the scenarios, as it is in this checkout."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance.played import Played
from tests.conformance.sections import ENGINE, SPARK_PLANE

REPORT = Path(__file__).parents[1] / "docs" / "conformance.md"


@pytest.mark.parametrize(
    "report", [REPORT, ENGINE.report(REPORT), SPARK_PLANE.report(REPORT)], ids=["tasks", "engine", "spark"]
)
def test_no_published_scenario_fails(report: Path) -> None:
    rows = Played.of(report).rows
    assert len(rows) > 100
    assert [name for name, row in rows.items() if row.outcome == "failed"] == []


def test_every_scenario_by_tasks_was_played() -> None:
    assert [name for name, row in Played.of(REPORT).rows.items() if row.outcome == "not run"] == []
