"""The picture: one panel per workload, a bar per contender with its spread. Drawn in an environment of its own: `plot.py RESULTS PICTURE`."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bench.environments import Environments

SHOWN = ("F1", "F2", "F3", "I1", "I3", "I4", "I6", "R")
OURS, OTHERS, FLOOR = "#1f6feb", "#b4b9c2", "#dfe2e7"
WIDTH, COLUMNS = 11.0, 2


def draw(environments: Environments, results: Path, picture: Path) -> None:
    """By a process of that environment. Raises Failed where there is none to be had."""
    from bench.measuring import Failed, last_words

    command = [environments.python("plot"), Path(__file__), results, picture]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Failed(last_words(done.stdout, done.stderr, done.returncode))


def main(results: Path, picture: Path) -> None:
    """Reads the results as they are written, and imports nothing of ours."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams |= {"svg.hashsalt": "incremental-assets", "font.size": 9, "font.family": "DejaVu Sans"}
    from matplotlib import pyplot as plt

    by_name = {each["name"]: each for each in json.loads(results.read_text(encoding="utf-8"))["workloads"]}
    shown = [by_name[name] for name in SHOWN if name in by_name]
    if not shown:
        sys.exit("no workload that it shows has been played")
    rows = [shown[first : first + COLUMNS] for first in range(0, len(shown), COLUMNS)]
    heights = [max(len(_bars(each)) for each in row) + 1.6 for row in rows]
    figure, axes = plt.subplots(
        len(rows), COLUMNS, figsize=(WIDTH, sum(heights) * 0.27), squeeze=False,
        gridspec_kw={"height_ratios": heights}, layout="constrained",
    )  # fmt: skip
    for number, panel in enumerate(axes.flat):
        if number < len(shown):
            row = rows[number // COLUMNS]
            _panel(panel, shown[number], max(len(_bars(each)) for each in row))
        else:
            panel.set_visible(False)
    picture.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(picture, metadata={"Date": None} if picture.suffix == ".svg" else None, dpi=130)


def _panel(panel: Any, workload: dict[str, Any], places: int) -> None:
    """`places` for bars, so that they are of one height beside each other."""
    bars = _bars(workload)
    names = [name for name, _ in bars]
    medians = [statistics.median(seconds) for _, seconds in bars]
    spread = [
        [median - min(seconds) for median, (_, seconds) in zip(medians, bars, strict=True)],
        [max(seconds) - median for median, (_, seconds) in zip(medians, bars, strict=True)],
    ]
    panel.barh(names, medians, xerr=spread, color=[_colour(name) for name in names], error_kw={"lw": 0.8, "capsize": 2})
    for place, (median, (_, seconds)) in enumerate(zip(medians, bars, strict=True)):
        panel.text(max(seconds), place, f"  {median:.1f} s", va="center")
    panel.margins(x=0.18)
    panel.set_ylim(places - 0.4, -0.6)
    title = f"{workload['name']}: {workload['title']}".replace("`", "")
    panel.set_title(title, loc="left", fontsize=9, fontweight="bold", wrap=True)
    panel.spines[["top", "right", "bottom"]].set_visible(False)
    panel.tick_params(left=False, bottom=False, labelbottom=False)


def _bars(workload: dict[str, Any]) -> list[tuple[str, list[float]]]:
    there = (each for each in workload["played"] if each["rounds"] and not each["failed"])
    return [(each["name"], [one["wall"] for one in each["rounds"]]) for each in there]


def _colour(name: str) -> str:
    return OURS if name.startswith("incremental-assets") else FLOOR if name.startswith("COPY") else OTHERS


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
