"""What is done to a partition as a whole, and to its rows with it, is in no log. Pure."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from incremental_assets.core.captures.database.observation import Parts, numbers
from incremental_assets.core.captures.log.position import LogPosition
from incremental_assets.core.words import counted


def moved_parts(at: LogPosition, parts: Parts | None, empty: AbstractSet[int]) -> str:
    """Which partitions have come with rows since the last sync, or left, as part of a sentence; empty where none has. `empty`: those without a row, by their numbers."""
    if at.members is None or parts is None:
        return ""
    # One that was away for a while is another one, see `Parts`.
    came = len(set(numbers(set(parts.members) - set(at.members))) - empty)
    left = len(set(numbers(at.members)) - set(numbers(parts.members)))
    told = ((came, "came with rows"), (left, "left"))
    return " and ".join(f"{counted(number, 'partition')} {what}" for number, what in told if number)
