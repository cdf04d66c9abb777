"""A dashboard as SVG: each panel where Grafana puts it, with what was answered to its queries. Colours and texts are ours, not Grafana's."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime

from incremental_assets.core.operations.dashboards import Dashboard, Panel, Query, Shape, Unit
from tools.dashboards.history import BEGINS, ENDS
from tools.dashboards.server import STEP, Answer

_CELL, _ROW, _GAP = 50, 34, 8
_COLOURS = ("#2f6fab", "#d9822b", "#3d9a50", "#b8433f", "#7d5ba6", "#6b6b6b", "#17a2a2", "#a88f1d")
_LEFT, _RIGHT, _TOP, _BOTTOM = 66, 24, 34, 58
_LINES = 4
Ask = Callable[[str], list[Answer]]


def picture(dashboard: Dashboard, ask: Ask) -> str:
    """The whole dashboard."""
    placed = [*dashboard.placed()]
    width, height = 24 * _CELL, max(y + panel.height for panel, _, y in placed) * _ROW
    parts = [part for panel, x, y in placed for part in _panel(panel, x * _CELL, y * _ROW, ask)]
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">'
    return "\n".join([head, f'<rect width="{width}" height="{height}" fill="#f4f5f5"/>', *parts, "</svg>", ""])


def _panel(panel: Panel, x: int, y: int, ask: Ask) -> Iterator[str]:
    wide, high = panel.width * _CELL - _GAP, panel.height * _ROW - _GAP
    yield f'<g transform="translate({x + _GAP // 2},{y + _GAP // 2})">'
    yield f'<rect width="{wide}" height="{high}" rx="3" fill="#ffffff" stroke="#d8d9da"/>'
    yield _text(12, 20, panel.title, 'font-weight="600"')
    if panel.shape is Shape.NUMBER:
        yield from _number(panel, wide, high, ask)
    else:
        series = [(_named(query, each), each) for query in panel.queries for each in ask(query.expression)]
        yield from _lines(panel, wide, high, sorted(series, key=lambda each: each[0]))
    yield "</g>"


def _number(panel: Panel, wide: int, high: int, ask: Ask) -> Iterator[str]:
    (answer,) = ask(panel.queries[0].expression)
    last = answer.points[-1][1]
    yield _text(wide // 2, high - 34, _shown(last, panel.unit), 'font-size="40" text-anchor="middle" fill="#2f6fab"')


def _lines(panel: Panel, wide: int, high: int, series: Sequence[tuple[str, Answer]]) -> Iterator[str]:
    top = max((value for _, each in series for _, value in each.points), default=0) or 1
    across, down = wide - _LEFT - _RIGHT, high - _TOP - _BOTTOM
    begins, lasts = BEGINS.timestamp(), (ENDS - BEGINS).total_seconds()
    for number in range(_LINES + 1):
        at = _TOP + down * number / _LINES
        yield f'<path d="M{_LEFT} {at:.1f}H{wide - _RIGHT}" stroke="#e4e5e6"/>'
        yield _text(_LEFT - 6, at + 4, _shown(top * (1 - number / _LINES), panel.unit), 'text-anchor="end" fill="#555"')
    for hour in range(7):
        at = _LEFT + across * hour / 6
        clock = datetime.fromtimestamp(begins + lasts * hour / 6, UTC)
        yield _text(at, _TOP + down + 16, f"{clock:%H:%M}", 'text-anchor="middle" fill="#555"')
    for number, (_, each) in enumerate(series):
        path, before = "", 0.0
        for at, value in each.points:
            begun = "L" if at - before <= STEP else "M"  # where there is no sample, there is no line
            path += f"{begun}{_LEFT + across * (at - begins) / lasts:.1f} {_TOP + down * (1 - value / top):.1f}"
            before = at
        yield f'<path d="{path}" fill="none" stroke="{_COLOURS[number % len(_COLOURS)]}" stroke-width="1.5"/>'
    right, below = _LEFT, high - 26
    for number, (name, _) in enumerate(series):
        length = 26 + int(5.8 * len(name))
        if right + length > wide:
            right, below = _LEFT, below + 15
        yield f'<rect x="{right}" y="{below - 5}" width="10" height="3" fill="{_COLOURS[number % len(_COLOURS)]}"/>'
        yield _text(right + 14, below, name, 'font-size="11"')
        right += length


def _named(query: Query, answer: Answer) -> str:
    return re.sub(r"{{(\w+)}}", lambda found: answer.labels.get(found[1], ""), query.legend)


def _shown(value: float, unit: Unit) -> str:
    if unit is Unit.SECONDS:
        for size, name in ((86_400, "d"), (3_600, "h"), (60, "min")):
            if value >= size:
                return f"{value / size:.3g} {name}"
        return f"{value:.3g} s"
    if unit is Unit.BYTES:
        return f"{value / 2**20:.3g} MiB"
    ends = "/s" if unit is Unit.ROWS_PER_SECOND else ""
    return (f"{value / 1000:.3g}k" if value >= 1000 else f"{value:.3g}") + ends


def _text(x: float, y: float, text: str, more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" {more}>{html.escape(text)}</text>'
