"""The state of a table after a plan has landed, whichever its capture. Pure."""

from __future__ import annotations

from incremental_assets.core.captures.capture import Read
from incremental_assets.core.model.definition import Definition, remembered
from incremental_assets.core.model.deletes import KeysCompared
from incremental_assets.core.model.position import Position
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.planning.new_columns import unfilled_after
from incremental_assets.core.planning.plan import SyncPlan


def landed(plan: SyncPlan, position: Position, read: Read) -> State:
    """The state that goes on from a position."""
    before, whole = plan.previous, plan.overwrites or plan.reading.is_whole
    clock = before.clock if before else None
    return State(
        app_id=plan.commit_ids.app_id,
        seq=plan.commit_ids.seq,
        batch_id=plan.commit_ids.batch_id,
        terms=plan.spec.terms,
        position=position,
        identity=plan.reading.identity or (before.identity if before else None),
        clock=clock if plan.request.mode.reads_again and not whole else plan.reading.clock,
        looked=before.looked if before else None,
        rows=read.rows if whole else None,
        columns=_columns(plan),
        absent=_absent(plan),
        discarded=plan.spec.discarded,
        changed=read.changed,
        compared=_compared(plan, read),
        unfilled=unfilled_after(plan, read.changed),
        erased=before is not None and before.erased,
        pii=plan.spec.pii,
        definition=_definition(plan),
    )


def definition_of(spec: TableSpec, state: State | None) -> Definition | None:
    """What is kept of the catalogue from now on; what was kept where the source does not tell."""
    kept = state.definition if state else None
    return kept if spec.shape.facts is None else remembered(kept, spec.shape.facts)


def _compared(plan: SyncPlan, read: Read) -> KeysCompared | None:
    """A copy that was overwritten holds what the source does."""
    if plan.overwrites:
        return KeysCompared(plan.reading.clock) if plan.spec.deletes.compares else None
    return read.compared or (plan.previous.compared if plan.previous else None)


def _definition(plan: SyncPlan) -> Definition | None:
    """What is read of a window again leaves the other rows as they were."""
    before = plan.previous
    if plan.request.mode.reads_again and before is not None and not plan.overwrites:
        return before.definition
    return definition_of(plan.spec, None if plan.overwrites else before)


def _columns(plan: SyncPlan) -> tuple[tuple[str, str], ...]:
    """Those that only the target still has keep the identity under which they landed."""
    kept = plan.previous.columns if plan.previous and not plan.overwrites else ()
    here = {column.name: column.identity for column in plan.spec.columns}
    known = {name: identity for name, identity in here.items() if identity}
    return tuple(({**here, **dict(kept), **known}).items())


def _absent(plan: SyncPlan) -> tuple[str, ...]:
    before = plan.previous
    if before is None or plan.overwrites:
        return ()
    here = {column.name.lower() for column in plan.spec.columns}
    names = dict.fromkeys((*before.absent, *dict(before.columns)))
    return tuple(name for name in names if name.lower() not in here)
