"""`make dashboards`: the pictures of docs/operations.md."""

from __future__ import annotations

import tempfile
from pathlib import Path

from incremental_assets.core.operations.dashboards import DASHBOARDS
from tools.dashboards.picture import draw
from tools.dashboards.server import ROOT, prometheus

IMAGES = ROOT / "docs" / "images"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, prometheus(Path(folder)) as found:
        for dashboard in DASHBOARDS.values():
            draw(dashboard, found.ask, IMAGES / f"dashboard_{dashboard.name}.svg")


if __name__ == "__main__":
    main()
