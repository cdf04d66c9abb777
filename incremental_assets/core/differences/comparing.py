"""A comparison as a way to read: one snapshot of the source tells what differs from the copy, and is read where it does."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial

from incremental_assets.core.captures.capture import Read
from incremental_assets.core.differences.differing import Differing, differing
from incremental_assets.core.differences.erased import without_erased
from incremental_assets.core.model.deletes import KeysCompared
from incremental_assets.core.model.key_parts import Selected
from incremental_assets.core.model.schema_change import SchemaChange
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.planning.plan import SyncPlan
from incremental_assets.core.ports import PlacedRows, Ports, Snapshot


def snapshot_of(plan: SyncPlan, ports: Ports) -> AbstractContextManager[Snapshot]:
    """The snapshot that a plan reads. The copy's version is chosen before it is opened."""
    if not plan.reading.finds_differing:
        return ports.source.snapshot(plan)
    copy = ports.by_key.placed_rows(plan.spec, plan.reading.compared)
    leave_out = partial(without_erased, plan.spec, ports=ports)
    return ports.differing_rows(plan.spec).compared(
        plan, lambda source: rows_to_read(plan.spec, copy, source, leave_out)
    )


def narrowed(plan: SyncPlan, snapshot: Snapshot) -> SyncPlan:
    """The plan, restricted to the rows that a comparison has asked for."""
    return plan if snapshot.selected is None else plan.at(snapshot.selected.places)


def read_of(snapshot: Snapshot, compared: KeysCompared | None, changed: tuple[SchemaChange, ...]) -> Read:
    """What was read, of which a comparison counts every row."""
    rows = snapshot.selected.rows if snapshot.selected else snapshot.rows
    return Read(rows, snapshot, compared, changed)


def rows_to_read(
    spec: TableSpec, copy: PlacedRows, source: PlacedRows, leave_out: Callable[[Differing], Differing] | None = None
) -> Selected:
    """The places of the keys whose rows differ; all rows where there are more of them than are worth naming. `leave_out`: takes out rows that the copy rightly lacks."""
    found = differing(spec, copy, source)
    rows = source.spread().rows
    if found is not None and leave_out is not None:
        found = leave_out(found)
    return Selected(found.places, rows, found.vanished) if found else Selected(None, rows)
