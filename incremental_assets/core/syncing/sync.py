"""The story of one sync: no row is lost and no effect is applied twice."""

from __future__ import annotations

import contextlib
import time
import uuid
from dataclasses import replace

from incremental_assets.core.errors import CursorIsNull, IncrementalAssetsError, Interrupted, Refused
from incremental_assets.core.interruption import this_process
from incremental_assets.core.model.schema_drift import check_identity
from incremental_assets.core.model.table import NullPolicy, TableId, TableSpec
from incremental_assets.core.planning.plan import Mode, Nothing, Observation, Request, SyncPlan, Ticket
from incremental_assets.core.planning.planner import plan
from incremental_assets.core.planning.report import RowCounts, Status, SyncReport
from incremental_assets.core.ports import Batch, Event, EventKind, Lease, Look, Ports, Position, Snapshot, Target
from incremental_assets.core.syncing.first_load import loads_directly
from incremental_assets.core.syncing.foreign_changes import stands
from incremental_assets.core.syncing.recovery import agree, check_untouched, recover
from incremental_assets.core.syncing.retry_once import persist
from incremental_assets.core.words import counted


def sync_table(spec: TableSpec, request: Request, ports: Ports) -> SyncReport:
    """Bring one table up to date. Raises the errors of `core.errors`; what had landed stays landed."""
    watch = Stopwatch(spec.id, ports)
    this_process.refuse(spec.id)
    with ports.checkpoints.lease(spec.id, request.run_id) as lease:
        try:
            watch.enter("plan")
            position = recover(spec, request, lease, ports)
            (observation,) = ports.probe.observe((Look(spec, position.state),))
            decision = _planned(spec, request, position, None, observation)
            if isinstance(decision, Nothing) and stands(spec, position, ports.lake):
                return _recovered(request, position, _idle(spec, request, decision, lease, watch))
            agreed, target = agree(spec, request, position, lease, ports)
            if agreed is not position or target is not None:
                unseen = observation if agreed is position else replace(observation, fingerprint=None)
                decision = _planned(spec, request, agreed, target, unseen)
            return (
                _land(decision, target, lease, ports, watch)
                if isinstance(decision, SyncPlan)
                else _recovered(request, position, _idle(spec, request, decision, lease, watch))
            )
        except BaseException as met:
            # Of what was cancelled, any port may say anything.
            error = Interrupted(spec.id) if this_process.asked else met
            # A staged intent stays open: its commit may be on its way, and the next run looks.
            with contextlib.suppress(IncrementalAssetsError):
                lease.record(
                    Event(
                        spec.id,
                        EventKind.FAILED,
                        request.run_id,
                        report=failed(spec, request, error, watch.seconds),
                        detail=sentence_of(spec.id, error),
                    )
                )
            if error is met:
                raise
            raise error from None


def _planned(
    spec: TableSpec, request: Request, position: Position, target: Target | None, observation: Observation
) -> SyncPlan | Nothing:
    """The plan from where the table stands, which is said where it had to be found again."""
    decision = plan(spec, request, position.state, _ticket(spec, request, position, target), observation)
    return replace(decision, warnings=(*decision.warnings, position.rebuilt)) if position.rebuilt else decision


def attempt(spec: TableSpec, request: Request, ports: Ports) -> SyncReport:
    """`sync_table`, with a failure of the family told in the report, so that the other tables go on."""
    begun = time.monotonic()
    try:
        return persist(lambda: sync_table(spec, request, ports))
    except IncrementalAssetsError as error:
        return failed(spec, request, error, time.monotonic() - begun)


def _land(decision: SyncPlan, target: Target | None, lease: Lease, ports: Ports, watch: Stopwatch) -> SyncReport:
    spec, request, ticket = decision.spec, decision.request, decision.ticket
    if decision.previous is not None and not decision.overwrites:
        check_identity(spec, dict(decision.previous.columns))
    intent = Event(spec.id, EventKind.INTENT, request.run_id, ticket.seq, ticket.batch_id, ticket.app_id)
    lease.record(replace(intent, state=decision.noticed))
    watch.enter("read")
    try:
        with ports.source.snapshot(decision) as snapshot:
            _check_nulls(decision, snapshot)
            is_load = ticket.load_seq is not None and snapshot.rejected == 0
            batch = ports.lake.load(decision, snapshot) if is_load else ports.stage.write(decision, snapshot)
            state = decision.landed(
                snapshot.rows, snapshot.highest, snapshot.fingerprint, snapshot.due, snapshot.visible
            )
        _check_shrink(decision, batch)
        check_untouched(spec, request, target, ports.lake.inspect(spec, target.version) if target else None)
        lease.record(replace(intent, kind=EventKind.STAGED, detail=batch.digest))
    except BaseException:
        # What is left, the next run sweeps away; why this one ends is the news.
        with contextlib.suppress(Exception):
            ports.stage.discard(spec.id, ticket.batch_id)
        raise
    watch.enter("apply")
    unmoved = batch.rows == 0 and target is not None and target.landed and not decision.overwrites
    commit = None if unmoved else ports.lake.apply(decision, batch, state)
    report = SyncReport(
        table=spec.id,
        run_id=request.run_id,
        strategy=spec.strategy,
        mode=request.mode,
        status=Status.LANDED,
        guarantee=decision.settled.guarantee,
        guarantee_reason=decision.settled.reason,
        window=decision.window,
        settled=decision.settled.value,
        previous_watermark=decision.previous_watermark,
        new_watermark=state.watermark,
        seq=ticket.seq,
        rows=commit.rows if commit else RowCounts(),
        target_version=commit.version if commit else target.version if target else None,
        lag=decision.lag,
        seconds=watch.seconds,
        stages=watch.stages,
        warnings=(*decision.warnings, *batch.warnings, *(commit.warnings if commit else ())),
    )
    landed = (commit.table_id, commit.version) if commit else (target.table_id, target.version) if target else None
    # Discarded first: once the sequence is closed, nobody would look for its batch again.
    ports.stage.discard(spec.id, ticket.batch_id)
    lease.record(replace(intent, kind=EventKind.LANDED, state=state, report=report, target=landed))
    watch.enter("landed")
    return report


def idle(spec: TableSpec, request: Request, nothing: Nothing) -> SyncReport:
    """The report of a sync that found nothing to read."""
    watermark = nothing.state.watermark if nothing.state else nothing.previous_watermark
    return SyncReport(
        table=spec.id,
        run_id=request.run_id,
        strategy=spec.strategy,
        mode=request.mode,
        status=Status.IDLE,
        guarantee=nothing.guarantee,
        guarantee_reason=nothing.guarantee_reason,
        settled=nothing.settled,
        previous_watermark=nothing.previous_watermark,
        new_watermark=watermark,
        warnings=nothing.warnings,
        reason=nothing.reason,
    )


def _idle(spec: TableSpec, request: Request, nothing: Nothing, lease: Lease, watch: Stopwatch) -> SyncReport:
    report = replace(idle(spec, request, nothing), seconds=watch.seconds, stages=watch.stages)
    if nothing.state is not None:
        lease.record(Event(spec.id, EventKind.IDLE, request.run_id, state=nothing.state, report=report))
    watch.enter("landed")
    return report


def _recovered(request: Request, position: Position, idle: SyncReport) -> SyncReport:
    """What a dead run had committed and never told is told by the run that found it, which has nothing else to tell."""
    found = position.last_report
    if request.mode is not Mode.SYNC or found is None or (found.run_id, found.status) != (idle.run_id, Status.LANDED):
        return idle
    return replace(
        found,
        guarantee=idle.guarantee,
        guarantee_reason=idle.guarantee_reason,
        settled=idle.settled,
        new_watermark=idle.new_watermark,
        seconds=idle.seconds,
        stages=idle.stages,
        warnings=idle.warnings,
    )


def _ticket(spec: TableSpec, request: Request, position: Position, target: Target | None) -> Ticket:
    """Sequences only grow: above every one announced, and above the last that the lake has seen."""
    app_id = (target.app_id if target else position.app_id) or str(uuid.uuid4())
    free = 1 + max(position.last_seq, target.seq if target else -1)
    if loads_directly(spec, request, position.state, target):
        return Ticket(app_id, free + 1, uuid.uuid4().hex, load_seq=free)
    return Ticket(app_id, free, uuid.uuid4().hex)


def _check_nulls(decision: SyncPlan, snapshot: Snapshot) -> None:
    cursor = decision.spec.cursor
    if snapshot.nulls and cursor is not None and decision.spec.is_incremental and cursor.nulls is NullPolicy.FAIL:
        raise CursorIsNull(decision.spec.id, cursor.column, snapshot.nulls)


def _check_shrink(decision: SyncPlan, batch: Batch) -> None:
    """Half of the rows gone is more likely an accident in the source than the truth."""
    before = decision.previous.rows if decision.previous else None
    if decision.overwrites and before and batch.rows < before / 2 and not decision.request.allow_shrink:
        raise Refused(
            f"{decision.spec.id}: the source shows {counted(batch.rows, 'row')} where the last whole read had {before}, so the copy was left as it is; "
            f"if that is right, run `incremental-assets sync --select {decision.spec.id} --allow-shrink --yes`"
        )


def failed(spec: TableSpec, request: Request, error: BaseException, seconds: float) -> SyncReport:
    """The report of a sync that ended in an error."""
    return SyncReport(
        table=spec.id,
        run_id=request.run_id,
        strategy=spec.strategy,
        mode=request.mode,
        status=Status.of(error),
        seconds=seconds,
        error=sentence_of(spec.id, error),
    )


def sentence(error: BaseException) -> str:
    """An error in one sentence; one that is not of the family names its type, its traceback belongs to the log."""
    if isinstance(error, IncrementalAssetsError):
        return str(error)
    first = next(iter(str(error).strip().splitlines()), "")
    return f"unexpected {type(error).__name__}" + (f": {first}" if first else "")


def sentence_of(table: TableId, error: BaseException) -> str:
    """The same, with the table: those of the family name it themselves."""
    return str(error) if isinstance(error, IncrementalAssetsError) else f"{table}: {sentence(error)}"


class Stopwatch:
    """Seconds per stage of one sync, told to the progress port as they begin."""

    def __init__(self, table: TableId, ports: Ports) -> None:
        self._table, self._ports = table, ports
        self._begun = time.monotonic()
        self._marks: list[tuple[str, float]] = []

    def enter(self, stage: str) -> None:
        """The next stage begins now."""
        self._marks.append((stage, time.monotonic()))
        self._ports.progress(self._table, stage)

    @property
    def seconds(self) -> float:
        """Since the sync began."""
        return time.monotonic() - self._begun

    @property
    def stages(self) -> tuple[tuple[str, float], ...]:
        """Every stage entered so far and how long it took."""
        ends = [begun for _, begun in self._marks[1:]] + [time.monotonic()]
        return tuple((stage, end - begun) for (stage, begun), end in zip(self._marks, ends, strict=True))
