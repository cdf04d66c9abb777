"""What is done to a partition as a whole, and to its rows with it, is in no log. Pure."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from incremental_assets.core.captures.database.observation import Parts, numbers
from incremental_assets.core.captures.database.parts import joined, left
from incremental_assets.core.captures.database.position import position_of
from incremental_assets.core.captures.log.reading import of_log
from incremental_assets.core.model.state import State
from incremental_assets.core.planning.plan import SyncPlan
from incremental_assets.core.words import counted


def moved_parts(state: State | None, parts: Parts | None, empty: AbstractSet[int]) -> str:
    """Which partitions have come with rows since the last sync, or left, as part of a sentence; empty where none has. `empty`: those without a row, by their numbers."""
    # One that was there before had rows, perhaps, that have landed.
    known = set(numbers(position_of(state).members or ()))
    came = len(set(numbers(joined(state, parts))) - (empty - known))
    told = ((came, "came with rows"), (left(state, parts), "left"))
    return " and ".join(f"{counted(number, 'partition')} {what}" for number, what in told if number)


def strayed(plan: SyncPlan, written: AbstractSet[int]) -> int:
    """How many of the partitions that were written, by their numbers, were not there at both looks, the last one and that of the plan: what else became of their rows nobody has seen.

    One came and left between the two, one is detached beside a transaction that goes on to write it, one came without rows that it had for a while.
    """
    before, now = position_of(plan.previous).members, of_log(plan).members
    if not plan.spec.shape.is_partitioned or before is None or now is None:
        return 0
    return len(written - (set(numbers(before)) & set(numbers(now))))


def in_words(strays: int) -> str:
    """As part of a sentence; empty where there is none."""
    return f"{counted(strays, 'partition')} came or left while it was written" if strays else ""
