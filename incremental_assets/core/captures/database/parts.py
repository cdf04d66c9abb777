"""The partitions and children that hold a table's rows: those that joined since the last sync are read whole. Pure."""

from __future__ import annotations

from incremental_assets.core.captures.database.observation import Parts, numbers
from incremental_assets.core.captures.database.position import position_of
from incremental_assets.core.model.cursor import CursorValue
from incremental_assets.core.model.state import State


def joined(state: State | None, parts: Parts | None) -> tuple[int, ...]:
    """Members that no sync has read since they were attached. Their rows may have been stamped at any time before, or changed without a stamp.

    An earlier release kept the number of a member alone.
    """
    known = position_of(state).members
    if known is None or parts is None:
        return ()
    kept = set(known)
    return tuple(member for member in parts.members if kept.isdisjoint((member, *numbers([member]))))


def left(state: State | None, parts: Parts | None) -> int:
    """How many members there were that are none any more."""
    known = position_of(state).members
    return 0 if known is None or parts is None else len(set(numbers(known)) - set(numbers(parts.members)))


def reaching(
    lower: CursorValue | None, start: CursorValue | None, state: State | None, parts: Parts | None
) -> CursorValue | None:
    """`lower`, or the smallest cursor of the new members if that is lower, but from `start` on; `start` itself where their rows are not known."""
    new = joined(state, parts)
    if parts is None or not new or lower is None:
        return lower
    if not set(new) <= set(parts.joined):
        # Their content is not known.
        return start
    if parts.lowest is None:
        return lower
    return min(lower, parts.lowest if start is None else max(parts.lowest, start))


def changed_parts(state: State | None, parts: Parts | None) -> tuple[str, ...]:
    """Warnings for people."""
    sentences = []
    if new := joined(state, parts):
        sentences.append(
            f"{_count(len(new))} joined the table since the last sync: its rows are read whatever their stamps are"
        )
    if gone := left(state, parts):
        sentences.append(
            f"{_count(gone)} left the table since the last sync: rows that had landed of it stay in the copy"
        )
    return tuple(sentences)


def _count(number: int) -> str:
    return "a partition or child" if number == 1 else f"{number} partitions or children"
