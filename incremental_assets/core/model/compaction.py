"""Decide whether the files of a copy should be compacted, and why, from its log.

Every tick adds a small file, and each of them makes all later ticks and reads slightly slower. Compacting costs once. It pays once the small
files have cost as much as the compaction would (the rent-or-buy rule): the total is then at most twice the optimum, however often and however
much a table changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from incremental_assets.core.model.table_id import TableId

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
"""The share of rows that are only marked as deleted from which on they are removed: two that live are written for one that is dead, at the most."""


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
    by_tasks: bool = False
    """Whether tasks can compact them, those of several tables in one job; else each table is a statement of Spark's SQL."""

    @property
    def dead(self) -> int:
        """Rows that every reader skips."""
        return self.rows - self.live


@dataclass(frozen=True, slots=True)
class Compaction:
    """What to do, and why. `urgency`: the cost paid so far divided by the cost of compacting; `size`: bytes of the files that are read, at the most."""

    how: How
    reason: str
    urgency: float
    size: int


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
        share, size = layout.dead / layout.rows, sum(layout.sizes)
        # Less than that leaves with the small files that hold it.
        if share * size >= SMALL:
            reason = f"{layout.dead:,} of {layout.rows:,} rows in its files are only marked as deleted"
            return Compaction(How.PURGE, reason, share / DEAD_SHARE, size)
    bins = gathered(layout.sizes)
    taken, size = sum(map(len, bins)), sum(layout.sizes[place] for found in bins for place in found)
    # They came one by one, so that on average half of them were there.
    paid = PER_FILE * (taken - len(bins)) ** 2 / 2
    cost = START + PER_BYTE * size
    if not bins or paid < cost:
        return None
    reason = f"{taken} of {len(layout.sizes)} files are small and become {len(bins)}"
    return Compaction(How.GATHER, reason, paid / cost, size)


Bins = tuple[tuple[int, ...], ...]
"""Places of the files whose rows become one file each."""


def gathered(sizes: Sequence[int]) -> Bins:
    """Small files become larger ones, as by OPTIMIZE: the smallest first, and none that would stay alone."""
    bins = _bins(sizes, (place for place, size in enumerate(sizes) if size < SMALL))
    return tuple(found for found in bins if len(found) > 1)


def purged(sizes: Sequence[int], marked: Sequence[bool]) -> Bins:
    """Those that hold marked rows are written without them, as by REORG; one that is larger than a file should be stays alone."""
    return _bins(sizes, (place for place, holds_some in enumerate(marked) if holds_some))


def _bins(sizes: Sequence[int], places: Iterable[int]) -> Bins:
    bins: list[list[int]] = []
    filled = 0
    for place in sorted(places, key=lambda place: sizes[place]):
        if not bins or filled + sizes[place] > TARGET:
            bins.append([])
            filled = 0
        bins[-1].append(place)
        filled += sizes[place]
    return tuple(map(tuple, bins))
