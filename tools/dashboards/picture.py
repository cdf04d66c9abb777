"""A dashboard as a picture: each panel where Grafana puts it, with what was answered to its queries. Colours and texts are not Grafana's."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bench.environments import Environments
from incremental_assets.core.operations.dashboards import Dashboard, Panel, Query
from tools.dashboards.history import BEGINS, ENDS
from tools.dashboards.server import ROOT, STEP, Answer

Ask = Callable[[str], list[Answer]]
_PLOTTING = Path(__file__).with_name("plotting.py")


def draw(dashboard: Dashboard, ask: Ask, picture: Path) -> None:
    """As SVG, by a process of the environment that draws the benchmarks too."""
    panels = [_asked(panel, ask) | {"x": x, "y": y} for panel, x, y in dashboard.placed()]
    document = {"begins": BEGINS.timestamp(), "ends": ENDS.timestamp(), "step": STEP, "panels": panels}
    python = Environments(ROOT / ".bench" / "environments").python("plot")
    subprocess.run([python, _PLOTTING, picture], input=json.dumps(document), text=True, check=True)


def _asked(panel: Panel, ask: Ask) -> dict[str, Any]:
    series = [(_named(query, each), each.points) for query in panel.queries for each in ask(query.expression)]
    return asdict(panel) | {"series": sorted(series, key=lambda each: each[0])}


def _named(query: Query, answer: Answer) -> str:
    return re.sub(r"{{(\w+)}}", lambda found: answer.labels.get(found[1], ""), query.legend)
