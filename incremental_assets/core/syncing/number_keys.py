"""Keys of an integer grid beside those that Dagster has: it takes them in the order of their arrival, so they arrive ascending and without gaps."""

from __future__ import annotations

from collections.abc import Sequence

from incremental_assets.core.model.partition import MOST_KEYS, IntegerGrid, integer_keys


def bounds(key: str) -> tuple[int, int]:
    """The range that a key is spelled as."""
    lower, upper = (int(part.replace("m", "-")) for part in key.split("-"))
    return lower, upper


def lower_of(one: str, other: str) -> str:
    """The key that comes first; as texts those below zero would not sort."""
    return min(one, other, key=bounds)


def spanning(grid: IntegerGrid, keys: Sequence[str]) -> tuple[str, ...]:
    """The keys from the lowest of these to the highest."""
    ends = [bounds(key) for key in keys]
    return integer_keys(grid, min(lower for lower, _ in ends), max(upper for _, upper in ends) - 1)


def following(grid: IntegerGrid, last: str, wanted: str) -> tuple[str, ...]:
    """The keys above `last`, up to `wanted`."""
    begin, end = bounds(last)[1], bounds(wanted)[1]
    return integer_keys(grid, begin, end - 1) if begin < end else ()


def usual_beginning(grid: IntegerGrid, last: int) -> int:
    """Numbers usually count from 1. Where they begin so high that the grid from 0 on has too many keys, it begins with the open one."""
    return min(0, last) if abs(last) // grid.size < MOST_KEYS else last
