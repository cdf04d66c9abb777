"""Decide whether the files of a copy should be compacted, and why, from its log.

Every tick adds a small file, and each of them makes all later ticks and reads slightly slower. Compacting costs once. It pays once the small
files have cost as much as the compaction would (the rent-or-buy rule): the total is then at most twice the optimum, however often and however
much a table changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from incremental_assets.core.model.table import TableId

SMALL = 16 * 2**20
"""Bytes. A smaller file is taken; a larger one keeps its own range of keys, by which a tick passes over it."""
TARGET = 64 * 2**20
"""Bytes. No file is made larger: one file for all would be read by every tick."""

PER_FILE = 0.01
"""Seconds by which one more small file slows a tick and a read. As the two below: seen on a busy machine, and only their ratio decides."""
START = 1.0
PER_BYTE = 1 / (20 * 2**20)
"""The fixed cost of a compaction in seconds, and the cost of each byte."""
DEAD_SHARE = 1 / 3
"""Of rows that are only marked as deleted, from which on they are removed: two that live are written for one that is dead, at the most."""


class How(StrEnum):
    """What is done to the files."""

    GATHER = "gather"
    """Small files become larger ones."""
    PURGE = "purge"
    """Rows that are marked as deleted leave the files that hold them."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The files of a copy: their sizes in bytes, the rows in them, and those rows that deletion vectors do not mark."""

    sizes: tuple[int, ...]
    rows: int
    live: int

    @property
    def dead(self) -> int:
        """Rows that every reader skips."""
        return self.rows - self.live


@dataclass(frozen=True, slots=True)
class Compaction:
    """What to do, and why. `urgency`: the cost paid so far divided by the cost of compacting."""

    how: How
    reason: str
    urgency: float


@dataclass(frozen=True, slots=True)
class Compacted:
    """A compacted copy: why, its files before and after, and the seconds that it took."""

    table: TableId
    why: Compaction
    before: Layout
    after: Layout
    version: int
    seconds: float


@dataclass(frozen=True, slots=True)
class NotCompacted:
    """A copy that was not compacted, and why; its rows are correct nevertheless."""

    table: TableId
    error: str


def compaction(layout: Layout) -> Compaction | None:
    """The compaction that pays now, if any does."""
    if layout.rows and layout.dead >= DEAD_SHARE * layout.rows:
        share = layout.dead / layout.rows
        # Less than that leaves with the small files that hold it.
        if share * sum(layout.sizes) >= SMALL:
            reason = f"{layout.dead:,} of {layout.rows:,} rows in its files are only marked as deleted"
            return Compaction(How.PURGE, reason, share / DEAD_SHARE)
    bins = gathered(layout.sizes)
    taken = sum(len(found) for found in bins)
    # They came one by one, so that on average half of them were there.
    paid = PER_FILE * (taken - len(bins)) ** 2 / 2
    cost = START + PER_BYTE * sum(map(sum, bins))
    if not bins or paid < cost:
        return None
    return Compaction(How.GATHER, f"{taken} of {len(layout.sizes)} files are small and become {len(bins)}", paid / cost)


def gathered(sizes: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    """The sizes that become one file each, as OPTIMIZE will choose them: the smallest first, and none that would stay alone."""
    bins: list[list[int]] = [[]]
    for size in sorted(size for size in sizes if size < SMALL):
        if sum(bins[-1]) + size > TARGET:
            bins.append([])
        bins[-1].append(size)
    return tuple(tuple(found) for found in bins if len(found) > 1)
