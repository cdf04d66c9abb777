"""Which offsets a sync reads. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from incremental_assets.core.captures.topic.observation import TopicSeen
from incremental_assets.core.captures.topic.reading import Range

MOST = 250_000
"""Offsets that one sync reads: its rows are held in memory until each key is known once."""


def everything(seen: TopicSeen, ends: Sequence[int] = ()) -> tuple[Range, ...]:
    """All that the topic still has, or what it has before these offsets."""
    highs = (
        (*ends, *(each.low for each in seen.partitions[len(ends) :]))
        if ends
        else [each.high for each in seen.partitions]
    )
    return tuple(
        Range(number, min(each.low, high), high)
        for number, (each, high) in enumerate(zip(seen.partitions, highs, strict=True))
    )


def ahead(begin: Sequence[int], seen: TopicSeen) -> tuple[tuple[Range, ...], int]:
    """What has come since, MOST of it at once and of each partition its share; and how much is left. A partition that came later is read from 0."""
    # Before anything was read, what the topic no longer has is not missed.
    begins = (*begin, *(0 if begin else each.low for each in seen.partitions[len(begin) :]))
    found = [
        Range(number, first, each.high)
        for number, (first, each) in enumerate(zip(begins, seen.partitions, strict=True))
    ]
    total = sum(each.size for each in found)
    if total <= MOST:
        return tuple(found), 0
    cut = tuple(Range(each.partition, each.begin, each.begin + -(-each.size * MOST // total)) for each in found)
    return cut, total - sum(each.size for each in cut)
