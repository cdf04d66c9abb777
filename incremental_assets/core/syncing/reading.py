"""What a plan reads: everything from one snapshot, staged or loaded, and the state that it leaves."""

from __future__ import annotations

from dataclasses import replace

from incremental_assets.core.captures.registry import capture_of
from incremental_assets.core.differences.comparing import narrowed, read_of, snapshot_of
from incremental_assets.core.differences.gone import find_gone
from incremental_assets.core.differences.vanished import settle_vanished
from incremental_assets.core.model.batch import Batch
from incremental_assets.core.model.state import State
from incremental_assets.core.planning.plan import SyncPlan
from incremental_assets.core.planning.schema_changes import schema_changes
from incremental_assets.core.planning.target import Target
from incremental_assets.core.ports import Ports


def read(plan: SyncPlan, target: Target | None, ports: Ports) -> tuple[Batch, State]:
    """The rows, and the state. What has been staged when this fails, the caller discards."""
    some = None if target is not None and target.whole_rows_only else _new_columns(plan, ports)
    batch, state = some or _rows(plan, target, ports)
    # An earlier release has not said of the table that there has to be a list.
    return batch, replace(state, erased=state.erased or batch.keeps_out)


def _new_columns(plan: SyncPlan, ports: Ports) -> tuple[Batch, State] | None:
    """The batch of a plan that fills new columns, with key, cursor and these alone; None for any other plan, and where a row cannot land: it is then read whole, for quarantine."""
    some, columns = plan.of_new_columns, plan.previous.lacking if plan.previous else ()
    if some is None or not columns:
        return None
    with ports.source.snapshot(some) as snapshot:
        capture_of(plan.spec).accepted(plan, snapshot)
        if snapshot.rejected:
            return None
        batch = ports.stage.write(some, snapshot)
        state = capture_of(plan.spec).landed(plan, read_of(snapshot, None, schema_changes(plan, ())))
    return None if batch.rejected else (replace(batch, new_columns=columns), state)


def _rows(plan: SyncPlan, target: Target | None, ports: Ports) -> tuple[Batch, State]:
    with snapshot_of(plan, ports) as snapshot:
        capture, planned = capture_of(plan.spec), plan.warnings
        plan = capture.accepted(narrowed(plan, snapshot), snapshot)
        gone = find_gone(plan, snapshot, ports.by_key)
        if plan.reading.finds_gone and snapshot.keys is not None:
            settle_vanished(plan.spec, snapshot.keys, ports)
        is_load = (
            plan.commit_ids.load_seq is not None and snapshot.rejected == 0 and not ports.erasures.has(plan.spec.id)
        )
        batch = ports.writer.load(plan, snapshot) if is_load else ports.stage.write(plan, snapshot, gone)
        changed = schema_changes(plan, target.columns if target is not None and target.landed else ())
        shown = tuple(each for each in plan.warnings if each not in planned)
        batch = replace(batch, warnings=(*batch.warnings, *shown))
        return batch, capture.landed(plan, read_of(snapshot, gone.compared if gone else None, changed))
