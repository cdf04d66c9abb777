"""Decide whether staged rows may already be in the target, and from which cursor on: pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from incremental_assets.core.model.batch import Batch
from incremental_assets.core.model.cursor import CursorValue
from incremental_assets.core.model.schema_drift import TargetColumn, is_added
from incremental_assets.core.planning.plan import SyncPlan


@dataclass(frozen=True, slots=True)
class Overlap:
    """The target's rows that a batch is compared with: cursors at or above `lower` and NULL cursors; all rows where `lower` is None."""

    lower: CursorValue | None


def overlap(plan: SyncPlan, batch: Batch, *, landed: bool) -> Overlap | None:
    """The overlap; None if no staged row can equal one of the target, or if all are written. `landed`: whether any sequence of ours ever committed there.

    An equal row has an equal cursor, and no cursor of the target is above the highest that any landed sync has read.
    """
    if plan.overwrites or not landed or batch.landable == 0 or plan.reading.has_new_keys:
        return None
    if plan.spec.traits.one_row_per_key and (plan.previous is None or plan.previous.clock is None):
        # After a reset, the way to continue after another writer's changes, the copy may hold several rows of a key: one that is written replaces them.
        return None
    if plan.reading.comes_once and plan.spec.traits.keeps_versions:
        return None
    if plan.spec.read_by is None or batch.lower is None:
        return Overlap(None)
    read = plan.previous.position.max_cursor_read if plan.previous else None
    return None if read is not None and read < batch.lower else Overlap(batch.lower)


@dataclass(frozen=True, slots=True)
class Era:
    """Rows of the target that landed from sequence `first` up to, not including, `end` (None: open), and the columns of that time."""

    columns: tuple[str, ...]
    first: int | None
    end: int | None


def eras(plan: SyncPlan, found: Overlap, target: Sequence[TargetColumn]) -> tuple[Era, ...]:
    """Newest first. A later column takes no part in comparing rows that landed before it; otherwise one new column would land them all again.

    An era whose rows all lie below the overlap is left out.
    """
    source = {column.name.lower() for column in plan.spec.columns}
    shared = [column for column in target if not is_added(column.name) and column.name.lower() in source]
    steps = sorted({column.since for column in shared if column.since is not None}, reverse=True)
    eras: list[Era] = []
    end = None
    for first in [*steps, None]:
        columns = tuple(
            column.name for column in shared if column.since is None or (first is not None and column.since <= first)
        )
        eras.append(Era(columns, first, end))
        if first is not None and _lies_below(plan, found, [column for column in shared if column.since == first]):
            break
        end = first
    return tuple(eras)


def _lies_below(plan: SyncPlan, found: Overlap, came: Sequence[TargetColumn]) -> bool:
    """Whether everything that landed before a column came has a cursor below the overlap."""
    kind = plan.spec.cursor_type
    if kind is None or found.lower is None:
        return False
    read = [column.since_cursor for column in came]
    return all(
        since is not None
        and since.cursor == plan.spec.terms.cursor
        and CursorValue.parse(kind, since.value) < found.lower
        for since in read
    )
