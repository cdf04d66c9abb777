"""A real Prometheus answers every panel of the dashboards, about a history that is made up."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import pytest

from incremental_assets.core.operations.dashboards import DASHBOARDS, Panel
from tools.dashboards.history import DOWN, FAILS
from tools.dashboards.picture import draw
from tools.dashboards.server import Prometheus, prometheus

pytestmark = pytest.mark.acceptance
PANELS = [panel for dashboard in DASHBOARDS.values() for panel in dashboard.panels]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    try:
        with prometheus(tmp_path_factory.mktemp("prometheus")) as found:
            yield found
    except FileNotFoundError as missing:
        pytest.skip(str(missing))


@pytest.mark.parametrize("panel", PANELS, ids=lambda panel: panel.title)
def test_every_query_has_an_answer_with_the_labels_of_its_legend(panel: Panel, server: Prometheus) -> None:
    for query in panel.queries:
        answers = server.ask(query.expression)
        assert answers, query.expression
        assert all(math.isfinite(value) for each in answers for _, value in each.points)
        assert any(value for each in answers for _, value in each.points), "something happens in six hours"
        names = {label for label in ("source", "table", "stage", "result") if f"{{{{{label}}}}}" in query.legend}
        assert all(names <= set(each.labels) for each in answers)


def values(server: Prometheus, title: str) -> list[float]:
    (panel,) = (each for each in PANELS if each.title == title)
    (answer,) = server.ask(panel.queries[0].expression)
    return [value for _, value in answer.points]


def test_the_numbers_are_those_of_the_history(server: Prometheus) -> None:
    down, failing, late = (
        values(server, title) for title in ("Sources that do not answer", "Failing tables", "Late copies")
    )
    assert [minute for minute, value in enumerate(down) if value] == list(DOWN)
    assert [minute for minute, value in enumerate(failing) if value] == list(FAILS)
    assert max(late) == 2
    assert late[0] == late[-1] == 0


def test_a_picture_has_every_panel(server: Prometheus, tmp_path: Path) -> None:
    for dashboard in DASHBOARDS.values():
        draw(dashboard, server.ask, tmp_path / "drawn.svg")
        drawn = (tmp_path / "drawn.svg").read_text(encoding="utf-8")
        assert all(f">{panel.title}</text>" in drawn for panel in dashboard.panels)


def test_the_pictures_of_the_pages_are_those_of_the_dashboards() -> None:
    images = Path(__file__).parents[2] / "docs" / "images"
    for dashboard in DASHBOARDS.values():
        drawn = (images / f"dashboard_{dashboard.name}.svg").read_text(encoding="utf-8")
        assert all(f">{panel.title}</text>" in drawn for panel in dashboard.panels)
