"""Decide whether staged rows may already be in the target, and from which cursor on: pure."""

from __future__ import annotations

from dataclasses import dataclass

from incremental_assets.core.cursor import CursorValue
from incremental_assets.core.plan import SyncPlan
from incremental_assets.core.ports import Batch


@dataclass(frozen=True, slots=True)
class Overlap:
    """The target's rows that a batch is compared with: cursors at or above `lower` and NULL cursors; all rows where `lower` is None."""

    lower: CursorValue | None


def overlap(plan: SyncPlan, batch: Batch, *, landed: bool) -> Overlap | None:
    """None where no staged row can equal one of the target. `landed`: whether any sequence of ours ever committed there.

    An equal row has an equal cursor, and no cursor of the target is above the highest that any landed sync has read.
    """
    if plan.overwrites or not landed or batch.rows == 0:
        return None
    if not plan.spec.is_incremental or batch.lower is None:
        return Overlap(None)
    read = plan.previous.max_cursor_read if plan.previous else None
    return None if read is not None and read < batch.lower else Overlap(batch.lower)
