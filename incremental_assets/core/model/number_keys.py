"""The partition keys of a grid of whole numbers: `lower-upper` at multiples of its size, and two with an open end.

Where a few numbers lie so far from the others that one grid over all of them has too many keys, it is laid over the others alone: `below-N`
holds every number below it, `from-N` every number from its end on. The name says what is held, whatever numbers come later.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from incremental_assets.core.errors import TooManyPartitions

MOST_KEYS = 25_000
"""Past this Dagster's pages and status queries stop being usable."""

_DIGITS = 19  # those of a bigint, so that keys of one table sort as text; longer numbers only make longer keys
_INTEGER_KEY = re.compile(r"(m?\d{19,})-(m?\d{19,})")
_OPEN_KEY = re.compile(r"(below|from)-(m?\d{19,})")


@dataclass(frozen=True, slots=True)
class IntegerGrid:
    """Ranges of `size` values, each beginning at a multiple of it."""

    size: int

    def __post_init__(self) -> None:
        if self.size < 1:
            raise ValueError(f"a partition holds at least one value, not {self.size}")


def integer_keys(grid: IntegerGrid, lowest: int, highest: int) -> tuple[str, ...]:
    """The keys that hold every value of `[lowest, highest]`, ascending and without gaps."""
    first, last = lowest // grid.size, highest // grid.size
    if is_too_wide(grid, lowest, highest):
        size = -(-(highest - lowest + 1) // (MOST_KEYS // 2))
        raise TooManyPartitions(
            last - first + 1, MOST_KEYS, f"raise `partitions: {{size: …}}` to {_round_up(size)} or more"
        )
    return tuple(_integer_key(number * grid.size, grid.size) for number in range(first, last + 1))


def integer_bounds(grid: IntegerGrid, key: str) -> tuple[int, int]:
    """The range `[lower, upper)` of a key without an open end; ValueError if the grid has no such key."""
    match = _INTEGER_KEY.fullmatch(key)
    lower = _number(match[1]) if match else 0
    if match is None or lower % grid.size or _integer_key(lower, grid.size) != key:
        raise _not_of(grid, key)
    return lower, lower + grid.size


def ends(grid: IntegerGrid, key: str) -> tuple[int | None, int | None]:
    """The range `[lower, upper)` of any key, None at an open end; ValueError if the grid has no such key."""
    match = _OPEN_KEY.fullmatch(key)
    if match is None:
        return integer_bounds(grid, key)
    end = _number(match[2])
    if end % grid.size or match[2] != _padded(end):
        raise _not_of(grid, key)
    return (None, end) if match[1] == "below" else (end, None)


def place(grid: IntegerGrid, key: str) -> int:
    """A key's place in its grid: an open one stands beside the keys that it follows or goes before."""
    lower, upper = ends(grid, key)
    return lower // grid.size if lower is not None else (upper or 0) // grid.size - 1


def is_open(keys: Iterable[str]) -> bool:
    """Whether these are keys of a grid that has an open end."""
    return any(_OPEN_KEY.fullmatch(key) for key in keys)


def laid(grid: IntegerGrid, lowest: int, highest: int) -> tuple[str, ...]:
    """The keys of a grid over `[lowest, highest]`, with an open first and an open last one: every number has its key, ascending."""
    within = integer_keys(grid, lowest, highest)
    return (f"below-{_padded(integer_bounds(grid, within[0])[0])}", *extended(grid, within))


def extended(grid: IntegerGrid, keys: Sequence[str]) -> tuple[str, ...]:
    """These keys, which have no open end yet, and one for every number above them."""
    return (*keys, f"from-{_padded(integer_bounds(grid, keys[-1])[1])}")


def among(grid: IntegerGrid, keys: Sequence[str], lowest: int | None, highest: int) -> tuple[str, ...]:
    """Those of the keys that hold a number of `[lowest, highest]`; `lowest` None is open."""
    found = []
    for key in keys:
        lower, upper = ends(grid, key)
        if (lower is None or lower <= highest) and (upper is None or lowest is None or lowest < upper):
            found.append(key)
    return tuple(found)


def is_too_wide(grid: IntegerGrid, lowest: int, highest: int) -> bool:
    """Whether one grid over all of these numbers has more keys than can be shown."""
    return highest // grid.size - lowest // grid.size >= MOST_KEYS


def _number(text: str) -> int:
    return int(text.replace("m", "-"))


def _not_of(grid: IntegerGrid, key: str) -> ValueError:
    return ValueError(f"{key!r} is not a partition of the grid of {grid.size} values")


def _integer_key(lower: int, size: int) -> str:
    return f"{_padded(lower)}-{_padded(lower + size)}"


def _padded(number: int) -> str:
    return f"{'m' if number < 0 else ''}{abs(number):0{_DIGITS}d}"


def _round_up(number: int) -> int:
    magnitude: int = 10 ** (len(str(number)) - 1)
    return -(-number // magnitude) * magnitude
