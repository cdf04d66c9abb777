"""`dashboards`: JSON that Grafana imports, of the schema of its version 11."""

from __future__ import annotations

import json
from typing import Any

from incremental_assets.cli.answer import Answer, Note
from incremental_assets.core.operations.dashboards import DASHBOARDS, Dashboard, Panel, Shape
from incremental_assets.core.operations.exposition import PREFIX

SCHEMA = 39
"""Of Grafana 11.0; later ones bring it to their own."""
_SOURCE_OF_DATA = {"type": "prometheus", "uid": "${datasource}"}


def run(name: str) -> Answer:
    """The command."""
    document = grafana(DASHBOARDS[name])
    return Answer(document, (Note(json.dumps(document, indent=2), wrap=False),))


def grafana(dashboard: Dashboard) -> dict[str, Any]:
    """A dashboard in its form."""
    return {
        "uid": f"incremental-assets-{dashboard.name}",
        "title": f"incremental-assets: {dashboard.title}",
        "description": dashboard.about,
        "tags": ["incremental-assets"],
        "schemaVersion": SCHEMA,
        "version": 1,
        "editable": True,
        "graphTooltip": 1,
        "refresh": "1m",
        "time": {"from": "now-6h", "to": "now"},
        "timezone": "utc",
        "annotations": {"list": []},
        "links": [],
        "templating": {"list": _variables()},
        "panels": [_panel(number, panel, x, y) for number, (panel, x, y) in enumerate(dashboard.placed(), start=1)],
    }


def _variables() -> list[dict[str, Any]]:
    of_data = {"name": "datasource", "label": "Prometheus", "type": "datasource", "query": "prometheus", "hide": 0}
    return [
        of_data,
        _labels("source", f"label_values({PREFIX}table_info, source)"),
        _labels("table", f'label_values({PREFIX}table_info{{source=~"$source"}}, table)'),
    ]


def _labels(name: str, query: str) -> dict[str, Any]:
    """A choice of the values of a label; all of them at first."""
    return {
        "name": name,
        "label": name.capitalize(),
        "type": "query",
        "datasource": _SOURCE_OF_DATA,
        "query": {"query": query, "refId": "Variable"},
        "refresh": 2,
        "sort": 1,
        "multi": True,
        "includeAll": True,
        "allValue": ".*",
        "current": {"selected": True, "text": ["All"], "value": ["$__all"]},
        "hide": 0,
    }


def _panel(number: int, panel: Panel, x: int, y: int) -> dict[str, Any]:
    return {
        "id": number,
        "type": str(panel.shape),
        "title": panel.title,
        "description": panel.about,
        "datasource": _SOURCE_OF_DATA,
        "gridPos": {"h": panel.height, "w": panel.width, "x": x, "y": y},
        "fieldConfig": {"defaults": {"unit": str(panel.unit), "min": 0}, "overrides": []},
        "options": _options(panel.shape),
        "targets": [
            {
                "refId": chr(ord("A") + at),
                "datasource": _SOURCE_OF_DATA,
                "expr": query.expression,
                "legendFormat": query.legend,
                "range": panel.shape is Shape.LINES,
                "instant": panel.shape is Shape.NUMBER,
            }
            for at, query in enumerate(panel.queries)
        ],
    }


def _options(shape: Shape) -> dict[str, Any]:
    if shape is Shape.NUMBER:
        return {"reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False}, "colorMode": "value"}
    return {
        "legend": {"displayMode": "list", "placement": "bottom", "showLegend": True},
        "tooltip": {"mode": "multi", "sort": "desc"},
    }
