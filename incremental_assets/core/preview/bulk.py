"""Where the bulk of a table's numbers lies, if a few lie so far from the others that no grid covers all of them.

The source is asked how many rows lie in some windows, and again within those that hold the most, until a grid covers these. Pure but for that.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import pairwise

from incremental_assets.core.model.number_keys import MOST_KEYS, IntegerGrid

Counts = Callable[[Sequence[tuple[int, int]]], Sequence[int]]
"""The rows of each range `[lower, upper)`."""

_PIECES = 64
_FOUR = 4
_TRIMS = 3
"""Passes that find the ends of the bulk, each to a thirtieth of the one before it."""


def bulk_of(grid: IntegerGrid, lowest: int, highest: int, counts: Counts) -> tuple[int, int] | None:
    """The range `[lowest, highest]` in which at least half of the rows lie and which the grid covers; None if there is none."""
    size, reach = grid.size, MOST_KEYS * grid.size
    edges = _around_zero(size, lowest // size * size, (highest // size + 1) * size)
    total = 0
    while True:
        rows = counts(list(pairwise(edges)))
        total = total or sum(rows)
        first, last = _fullest(edges, rows, reach)
        if not total or sum(rows[first:last]) * 2 < total:
            return None
        lower, upper = _without_empty(edges, rows, first, last)
        if upper - lower <= reach:
            return _trimmed(grid, lower, upper, counts)
        edges = _split(size, lower, upper)


def _around_zero(size: int, lower: int, upper: int) -> list[int]:
    """Edges that lie further and further from zero, around which numbers usually are."""
    found, far = {lower, upper}, MOST_KEYS // 2 * size
    while far < upper or -far > lower:
        found |= {edge for edge in (-far, far) if lower < edge < upper}
        far *= _FOUR
    return sorted(found)


def _fullest(edges: Sequence[int], rows: Sequence[int], reach: int) -> tuple[int, int]:
    """The run of windows with the most rows: of two at least, as what lies on the edge between them belongs together, and of as many as a grid covers."""
    runs = []
    for first in range(len(rows)):
        last = max(bisect_right(edges, edges[first] + reach) - 1, min(first + 2, len(rows)))
        runs.append((sum(rows[first:last]), -first, last))
    _, first, last = max(runs)
    return -first, last


def _without_empty(edges: Sequence[int], rows: Sequence[int], first: int, last: int) -> tuple[int, int]:
    """The ends of a run of windows without those at its ends that hold nothing."""
    full = [number for number in range(first, last) if rows[number]]
    return (edges[full[0]], edges[full[-1] + 1]) if full else (edges[first], edges[last])


def _split(size: int, lower: int, upper: int) -> list[int]:
    """The edges of some sixty windows of about the same number of partitions."""
    keys = (upper - lower) // size
    pieces = min(_PIECES, keys)
    return [lower + keys * piece // pieces * size for piece in range(pieces + 1)]


def _trimmed(grid: IntegerGrid, lower: int, upper: int, counts: Counts) -> tuple[int, int]:
    for _ in range(_TRIMS):
        edges = _split(grid.size, lower, upper)
        rows = counts(list(pairwise(edges)))
        shorter = _without_empty(edges, rows, 0, len(rows))
        is_small = upper - lower <= _PIECES * grid.size
        lower, upper = shorter
        if is_small:
            break
    return lower, upper - 1
