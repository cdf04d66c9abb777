"""`dashboards`: each expression is one that Prometheus reads and that asks for what is exported, and the JSON is of the schema that it names."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from incremental_assets.cli.commands.dashboards import grafana
from incremental_assets.cli.main import commands
from incremental_assets.core.operations.dashboards import COLUMNS, DASHBOARDS, Dashboard, Panel, Shape
from incremental_assets.core.operations.exposition import PREFIX
from incremental_assets.core.operations.known import Known
from incremental_assets.core.operations.metrics import families
from incremental_assets.core.operations.rules import recorded
from tests.cli.conftest import Call
from tests.prometheus import promtool

METRICS = {PREFIX + family.name for family in families(Known(), (), "1")}
RECORDED = {rule.name for rule in recorded()}
LABELS = {"source", "table", "result", "operation", "stage", "change", "health", "slo", "le"}
OF_GRAFANA = {"$__rate_interval": "5m", "$source": ".*", "$table": ".*"}
EACH = pytest.mark.parametrize("dashboard", DASHBOARDS.values(), ids=lambda each: each.name)


def expression(text: str) -> str:
    """As Grafana sends it, of all sources and tables."""
    for variable, value in OF_GRAFANA.items():
        text = text.replace(variable, value)
    return text


def queries() -> list[tuple[Panel, str, str]]:
    return [
        (panel, query.expression, query.legend)
        for dashboard in DASHBOARDS.values()
        for panel in dashboard.panels
        for query in panel.queries
    ]


def test_prometheus_reads_every_expression(tmp_path: Path) -> None:
    rules = [{"record": f"panel:{number}", "expr": expression(text)} for number, (_, text, _) in enumerate(queries())]
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": rules}]}))
    checked = subprocess.run(
        [promtool(), "check", "rules", str(tmp_path / "rules.yaml")], capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert not re.search(r"\$\w", "".join(each["expr"] for each in rules))


@pytest.mark.parametrize(("panel", "text", "legend"), queries(), ids=lambda each: getattr(each, "title", ""))
def test_what_is_asked_for_is_exported_or_recorded_and_has_the_labels(panel: Panel, text: str, legend: str) -> None:
    bare = re.sub(r'"[^"]*"', '""', text)
    asked = set(re.findall(rf"{PREFIX}\w+|\b(?:slo|incremental_assets):[\w:]+", bare))
    assert asked
    assert {re.sub(r"_(bucket|count|sum)$", "", each) for each in asked} <= METRICS | RECORDED | asked & METRICS
    assert set(re.findall(r"(\w+)=~?\"", text)) <= LABELS
    shown = set(re.findall(r"{{(\w+)}}", legend))
    kept = {
        name for names in re.findall(r"by \(([^)]*)\)|on \(([^)]*)\)", text) for name in ",".join(names).split(", ")
    }
    assert shown <= LABELS
    assert not shown or panel.shape is Shape.LINES
    assert all(re.search(rf"\b{name}\b", " ".join(kept)) for name in shown), kept


@EACH
def test_panels_have_a_title_and_a_sentence_of_their_own_and_do_not_overlap(dashboard: Dashboard) -> None:
    assert len({panel.title for panel in dashboard.panels}) == len(dashboard.panels)
    assert all(panel.about.endswith(".") for panel in dashboard.panels)
    taken: set[tuple[int, int]] = set()
    for panel, x, y in dashboard.placed():
        assert x + panel.width <= COLUMNS
        cells = {(x + right, y + down) for right in range(panel.width) for down in range(panel.height)}
        assert not cells & taken
        taken |= cells
    assert len(taken) == sum(panel.width * panel.height for panel in dashboard.panels)


@EACH
def test_the_json_is_of_its_schema(dashboard: Dashboard) -> None:
    document = grafana(dashboard)

    assert (document["schemaVersion"], document["uid"]) == (39, f"incremental-assets-{dashboard.name}")
    names = [variable["name"] for variable in document["templating"]["list"]]
    assert names == ["datasource", "source", "table"]
    panels: list[dict[str, Any]] = document["panels"]
    assert [panel["id"] for panel in panels] == list(range(1, len(panels) + 1))
    assert {panel["type"] for panel in panels} <= {"stat", "timeseries"}
    for panel, written in zip(dashboard.panels, panels, strict=True):
        assert (written["title"], written["description"]) == (panel.title, panel.about)
        assert written["fieldConfig"]["defaults"]["unit"] == panel.unit
        assert [each["expr"] for each in written["targets"]] == [each.expression for each in panel.queries]
        assert len({each["refId"] for each in written["targets"]}) == len(panel.queries)


@EACH
def test_the_command_prints_it_for_people_and_programs_alike(dashboard: Dashboard, call: Call) -> None:
    said = call("dashboards", dashboard.name)
    assert said.code == 0
    assert json.loads(said.out) == json.loads(call("dashboards", dashboard.name, "--json").out) == grafana(dashboard)


def test_the_command_knows_every_dashboard(call: Call) -> None:
    (choice,) = (each.type for each in commands.commands["dashboards"].params if each.name == "name")
    assert tuple(choice.choices) == tuple(DASHBOARDS)  # type: ignore[attr-defined]
    assert call("dashboards", "sales").code == 2
