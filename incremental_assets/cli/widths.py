"""How wide each column of a table is on a terminal: nothing is cut, what is too wide is folded, and what is spare is left out first."""

from __future__ import annotations

from collections.abc import Mapping

from incremental_assets.cli.answer import Grid

_READABLE = 20
"""Characters that a column of sentences keeps, such as a time to the second; a spare one that cannot have them is left out."""
_NAME = 40
"""Characters that any other column keeps, or half of the terminal: one name of eighty must not take the room of all that is said of the others."""
_DIVIDER = 2


def fitting(natural: Mapping[str, int], grid: Grid, width: int) -> dict[str, int]:
    """The columns that are printed, with their widths. `natural` is how wide each would be if nothing was folded."""
    least = {name: min(widest, _kept(name, grid, width)) for name, widest in natural.items()}
    for name in reversed(grid.spare):
        if _needed(least) > width:
            least.pop(name, None)
    return _narrowed(least, width) if _needed(least) > width else _widened(least, natural, width)


def _kept(name: str, grid: Grid, width: int) -> int:
    return _READABLE if name in (*grid.spare, *grid.prose) else max(_NAME, width // 2)


def _needed(widths: Mapping[str, int]) -> int:
    return sum(widths.values()) + _DIVIDER * len(widths)


def _widened(least: dict[str, int], natural: Mapping[str, int], width: int) -> dict[str, int]:
    """What is left of the terminal goes to the columns that lack some, in equal parts."""
    widths = dict(least)
    while (left := width - _needed(widths)) > 0 and (
        lacking := [each for each in widths if widths[each] < natural[each]]
    ):
        for name in lacking[:left]:
            widths[name] += min(max(left // len(lacking), 1), natural[name] - widths[name])
    return widths


def _narrowed(least: dict[str, int], width: int) -> dict[str, int]:
    """Where even these do not fit, the widest give first."""
    widths = dict(least)
    while _needed(widths) > width and (widest := max(widths, key=lambda name: widths[name])) and widths[widest] > 1:
        widths[widest] -= 1
    return widths
