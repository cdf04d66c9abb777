"""What is done to a partition as a whole, and to its rows with it, is in no log. Pure."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from incremental_assets.core.captures.database.observation import Parts, numbers
from incremental_assets.core.captures.database.parts import joined, left
from incremental_assets.core.model.state import State
from incremental_assets.core.words import counted


def moved_parts(state: State | None, parts: Parts | None, empty: AbstractSet[int]) -> str:
    """Which partitions have come with rows since the last sync, or left, as part of a sentence; empty where none has. `empty`: those without a row, by their numbers."""
    came = len(set(numbers(joined(state, parts))) - empty)
    told = ((came, "came with rows"), (left(state, parts), "left"))
    return " and ".join(f"{counted(number, 'partition')} {what}" for number, what in told if number)
