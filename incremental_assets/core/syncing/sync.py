"""The story of one sync: no row is lost and no effect is applied twice."""

from __future__ import annotations

from dataclasses import replace

from incremental_assets.core.captures.registry import capture_of
from incremental_assets.core.concurrency.interruption import this_process
from incremental_assets.core.differences.erased import check_list
from incremental_assets.core.model.batch import Batch
from incremental_assets.core.model.schema_drift import check_columns, difference
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.observing.occurrences import Committed, LeaseTaken
from incremental_assets.core.planning.events import Event, EventKind
from incremental_assets.core.planning.plan import NothingToDo, Request, SyncPlan
from incremental_assets.core.planning.preflight import check_same_columns, check_shrink
from incremental_assets.core.planning.report import RowCounts, SyncReport
from incremental_assets.core.planning.target import AsLeft, Target
from incremental_assets.core.ports import Lease, Ports
from incremental_assets.core.syncing.decide import decide
from incremental_assets.core.syncing.failure import discarded_on_failure, recorded_on_failure
from incremental_assets.core.syncing.following import catch_up, follow_commit, lost, together
from incremental_assets.core.syncing.idle import IdleTable, finish_under_lease
from incremental_assets.core.syncing.phases import Phases
from incremental_assets.core.syncing.reading import read
from incremental_assets.core.syncing.recovery import check_untouched, recover, unreported
from incremental_assets.core.syncing.renaming import rename_columns


def sync_table(spec: TableSpec, request: Request, ports: Ports) -> SyncReport:
    """Bring one table up to date. Raises the errors of `core.errors`; what had landed stays landed."""
    this_process.refuse(spec.id)
    phases = Phases(spec.id, request.run_id, ports.observer)
    with (
        ports.checkpoints.lease(spec.id, request.run_id) as held,
        recorded_on_failure(spec, request, held, phases) as lease,
    ):
        ports.observer.notify(LeaseTaken(spec.id, request.run_id, phases.seconds))
        phases.enter("plan")
        position = recover(spec, request, lease, ports)
        caught_up = catch_up(spec, request, ports.historian)
        decision, target = decide(spec, request, position, lease, ports)
        names = rename_columns(spec, request, lease, ports) if decision.renames else None
        if names is not None:
            caught_up, position = together(caught_up, names.history), ports.checkpoints.position(spec.id)
            decision, target = decide(spec, request, position, lease, ports)
        decision = replace(decision, warnings=(*decision.warnings, *lost(spec, caught_up)))
        if isinstance(decision, NothingToDo):
            idle = finish_under_lease(IdleTable(spec, position, decision, is_news=True), request, lease, phases)
            found = names or unreported(request, position)
            left = position.state.lacking if position.state else ()
            return replace(found.instead_of(idle) if found else idle, history=caught_up, unfilled=left)
        report = _land(decision, target, lease, ports, phases)
        changes = (*(names.schema_changes if names else ()), *report.schema_changes)
        return replace(report, history=together(caught_up, report.history), schema_changes=changes)


def _land(plan: SyncPlan, target: Target | None, lease: Lease, ports: Ports, phases: Phases) -> SyncReport:
    spec, commit_ids = plan.spec, plan.commit_ids
    check_same_columns(plan)
    check_list(spec, plan.previous, ports.erasures)
    if target is not None and target.landed:
        check_columns(spec, difference(spec.columns, target.columns), overwrites=plan.overwrites)
    intent = Event(
        spec.id, EventKind.INTENT, plan.request.run_id, commit_ids.seq, commit_ids.batch_id, commit_ids.app_id
    )
    lease.record(replace(intent, state=capture_of(spec).noticed(plan)))
    phases.enter("read")
    with discarded_on_failure(plan, ports.stage, lease):
        batch, state = read(plan, target, ports)
        check_shrink(plan, batch.rows)
        check_untouched(spec, plan.request, target, ports.reader.inspect(spec, target.version) if target else None)
        lease.record(replace(intent, kind=EventKind.STAGED, detail=batch.digest))
    phases.enter("apply")
    commit = None if _leaves_as_it_is(plan, batch, target) else ports.writer.apply(plan, batch, state)
    if commit:
        ports.observer.notify(Committed(spec, plan.request.run_id, commit_ids.seq, commit.version, commit.by_spark))
    left = AsLeft(commit.table_id, commit.version, commit_ids.seq) if commit else target.as_left if target else None
    rows, version = commit.rows if commit else RowCounts(), left.version if left else None
    warnings = (*batch.warnings, *(commit.warnings if commit else ()))
    history = follow_commit(plan, ports.historian, phases) if commit else None
    report = SyncReport.landed(plan, state.position.watermark, rows, version, warnings)
    report, state = capture_of(spec).judged(plan, report, state)
    report = replace(
        phases.timed(report),
        history=history,
        schema_changes=state.changed,
        unfilled=state.lacking,
        by_spark=commit.by_spark if commit else "",
    )
    # Discarded first: once the sequence is closed, nobody would look for its batch again.
    left_over = ports.stage.discard(spec.id, commit_ids.batch_id)
    report = replace(report, warnings=(*report.warnings, *left_over))
    landed = replace(intent, kind=EventKind.LANDED, state=state, report=report)
    lease.record(replace(landed, target=left))
    phases.enter("landed")
    return report


def _leaves_as_it_is(plan: SyncPlan, batch: Batch, target: Target | None) -> bool:
    """Whether there is nothing to commit: no row, and no column that the copy lacks or has with another type, which is followed or refused where it is committed."""
    if batch.rows or target is None or not target.landed or plan.overwrites:
        return False
    found = difference(plan.spec.columns, target.columns)
    return not (found.added or found.retyped)
