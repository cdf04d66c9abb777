"""Draws what stands on its input: `plotting.py PICTURE < DOCUMENT`, in an environment of its own. Imports nothing of ours."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

_COLUMNS, _CELL = 24, 0.5
_OURS = "#2f6fab"


def main(document: dict[str, Any], picture: Path) -> None:
    """One figure."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams |= {"svg.hashsalt": "incremental-assets", "svg.fonttype": "none", "font.size": 8}
    from matplotlib import pyplot as plt

    rows = max(each["y"] + each["height"] for each in document["panels"])
    figure = plt.figure(figsize=(_COLUMNS * _CELL, rows * _CELL * 0.75), layout="constrained")
    grid = figure.add_gridspec(rows, _COLUMNS)
    for each in document["panels"]:
        place = grid[each["y"] : each["y"] + each["height"], each["x"] : each["x"] + each["width"]]
        panel = figure.add_subplot(place)
        panel.set_title(each["title"], loc="left", fontweight="bold")
        (_number if each["shape"] == "stat" else _lines)(panel, each, document)
    figure.savefig(picture, metadata={"Date": None})


def _number(panel: Any, each: dict[str, Any], _document: dict[str, Any]) -> None:
    ((_, points),) = each["series"]
    panel.axis("off")
    panel.text(0.5, 0.45, _shown(points[-1][1], each["unit"]), ha="center", va="center", fontsize=28, color=_OURS)


def _lines(panel: Any, each: dict[str, Any], document: dict[str, Any]) -> None:
    from matplotlib.dates import DateFormatter

    for name, points in each["series"]:
        times, values, before = list[datetime](), list[float](), document["begins"]
        for at, value in points:
            if at - before > document["step"]:  # where there is no sample, there is no line
                times.append(datetime.fromtimestamp(before, UTC))
                values.append(float("nan"))
            times.append(datetime.fromtimestamp(at, UTC))
            values.append(value)
            before = at
        panel.plot(times, values, label=name, linewidth=1)
    panel.set_xlim(*(datetime.fromtimestamp(document[end], UTC) for end in ("begins", "ends")))
    panel.set_ylim(bottom=0)
    panel.xaxis.set_major_formatter(DateFormatter("%H:%M"))
    panel.yaxis.set_major_formatter(lambda value, _: _shown(value, each["unit"]))
    panel.grid(axis="y", linewidth=0.4)
    panel.spines[["top", "right"]].set_visible(False)
    panel.legend(fontsize=6, ncols=2, loc="upper left", bbox_to_anchor=(0, -0.12), frameon=False)


def _shown(value: float, unit: str) -> str:
    if unit == "s":
        for size, name in ((86_400, "d"), (3_600, "h"), (60, "min")):
            if value >= size:
                return f"{value / size:.3g} {name}"
        return f"{value:.3g} s"
    if unit == "bytes":
        return f"{value / 2**20:.3g} MiB"
    ends = "/s" if unit == "rps" else ""
    return (f"{value / 1000:.3g}k" if value >= 1000 else f"{value:.3g}") + ends


if __name__ == "__main__":
    main(json.load(sys.stdin), Path(sys.argv[1]))
