"""Take a copy back to what an earlier run left: rows, columns, quarantine, watermark and coverage, in one audited step under its lease.

The table's commit decides: a process that dies before it has changed nothing, and of one that dies after it the next run restores the
quarantine, takes its history back, and records the rest.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Sequence
from dataclasses import replace

from incremental_assets.core.captures.registry import capture_of
from incremental_assets.core.concurrency.interruption import this_process
from incremental_assets.core.errors import IncrementalAssetsError, Refused, SelectionError, TargetChanged
from incremental_assets.core.model.cures import full_refresh, reset, runs
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.verified import Verified
from incremental_assets.core.planning.events import Checkpoint, Event, EventKind
from incremental_assets.core.planning.plan import CommitIds, Mode, Request, RollBack
from incremental_assets.core.planning.report import Status, SyncReport
from incremental_assets.core.planning.schema_changes import rolled_back_changes
from incremental_assets.core.planning.target import AsLeft, Target
from incremental_assets.core.ports import Ports
from incremental_assets.core.syncing.following import follow
from incremental_assets.core.syncing.foreign_changes import not_ours
from incremental_assets.core.syncing.recovery import recover


def roll_back(spec: TableSpec, to_run: str, run_id: str, ports: Ports) -> SyncReport:
    """The next sync reads from there. Raises Busy, SelectionError for a run that left nothing to go back to, and Refused."""
    this_process.refuse(spec.id)
    request, begun = Request(run_id, Mode.ROLLBACK), time.monotonic()
    with ports.checkpoints.lease(spec.id, run_id, even_paused=True) as lease:
        position = recover(spec, request, lease, ports)
        now, target = position.state, ports.reader.inspect(spec, position.target[1] if position.target else None)
        if now is None or target is None:
            raise _nothing_landed(spec)
        past, version = _past(spec, to_run, target, ports.checkpoints.position_after(spec.id, to_run))
        seq = 1 + max(position.last_seq, target.seq)
        since = ports.checkpoints.events_since(spec.id, to_run)
        state = rolled_back(still_settled_since(past, since), now, seq, uuid.uuid4().hex)
        back = RollBack(CommitIds(target.app_id, seq, state.batch_id), run_id, version, past.seq)
        # What was known of the copy's equality does not hold of the rows that come back.
        ports.checkpoints.remember_verified(spec.id, ports.checkpoints.last_event(spec.id), _nothing_verified)
        event = Event(spec.id, EventKind.INTENT, run_id, seq, state.batch_id, target.app_id)
        lease.record(event)
        # From here on its commit may be on its way.
        lease.record(replace(event, kind=EventKind.STAGED))
        commit = ports.writer.roll_back(spec, back, state)
        ports.writer.roll_back_quarantine(spec, back.commit_ids, back.seq)
        history = follow(spec, run_id, ports.historian)
        report = replace(
            SyncReport.of(spec, request, Status.LANDED),
            previous_watermark=now.position.watermark,
            new_watermark=state.position.watermark,
            seq=seq,
            target_version=commit.version,
            seconds=time.monotonic() - begun,
            reason=f"rolled back to run {to_run}",
            history=history,
            schema_changes=state.changed,
        )
        landed = replace(event, kind=EventKind.LANDED, state=state, report=report, detail=report.reason)
        lease.record(replace(landed, target=AsLeft(commit.table_id, commit.version, seq)))
    return report


def would_refuse(spec: TableSpec, to_run: str, position: Checkpoint, ports: Ports) -> IncrementalAssetsError | None:
    """What a rollback would meet that is known before its lease; None where nothing stands in its way."""
    try:
        target = ports.reader.inspect(spec, position.target[1] if position.target else None)
        if position.state is None or target is None:
            raise _nothing_landed(spec)
        _past(spec, to_run, target, ports.checkpoints.position_after(spec.id, to_run))
    except IncrementalAssetsError as error:
        return error
    return None


def _nothing_verified(_known: Verified | None, _since: Sequence[Event]) -> Verified:
    return Verified(None)


def _nothing_landed(spec: TableSpec) -> SelectionError:
    return SelectionError(f"{spec.id}: nothing has landed yet, so there is nothing to roll back")


def rolled_back(past: State, now: State, seq: int, batch_id: str) -> State:
    """The state of then, under a new sequence. What has been learnt of the source since stays: which one it is, and what its clock did."""
    return replace(
        past,
        app_id=now.app_id,
        seq=seq,
        batch_id=batch_id,
        position=past.position.rolled_back(now.position),
        identity=now.identity,
        changed=rolled_back_changes(past, now),
    )


def still_settled_since(past: State, since: Sequence[Event]) -> State:
    """The state of then, its watermark no higher than any since: a clock that was put back, or a zone that was changed, has stamped rows below it.

    A run since that could settle nothing, as after a reset, leaves none.
    """
    watermark = past.position.watermark
    if watermark is None:
        return past
    recorded = [event for event in since if event.kind is not EventKind.RESET]
    marks = [event.state.position.watermark for event in recorded if event.state is not None]
    if None in marks:
        return replace(past, position=past.position.lowered(None))
    # What stood while nothing was found may have been thinned out.
    marks += [event.report.previous_watermark for event in recorded if event.report is not None]
    lowest = min([watermark, *(mark for mark in marks if mark is not None and mark.type is watermark.type)])
    return replace(past, position=past.position.lowered(lowest))


def _past(spec: TableSpec, to_run: str, target: Target, position: Checkpoint | None) -> tuple[State, int]:
    """The state that the run left, and the version of the copy. Raises SelectionError, Refused, TargetChanged."""
    if capture_of(spec).is_whole:
        raise SelectionError(
            f"{spec.id}: this table is {capture_of(spec).words}, and its next sync would bring the rows of the source again, so it is not rolled back"
        )
    if position is None:
        raise SelectionError(
            f"{spec.id}: no sync of this table by a run {to_run!r} has landed; {runs(spec)} lists those that have"
        )
    if position.state is None or position.target is None:
        raise SelectionError(
            f"{spec.id}: the copy had been reset when run {to_run!r} ended, so that its version is not known; choose another run"
        )
    table_id, version, _ = position.target
    if not target.app_id:
        raise TargetChanged(not_ours(spec))
    if table_id != target.table_id:
        raise TargetChanged(
            f"{spec.id}: the copy has been recreated since run {to_run!r}, so its rows of that time are gone; read it again with {full_refresh(spec)}"
        )
    if version > target.version:
        raise TargetChanged(
            f"{spec.id}: the copy is at version {target.version}, before the {version} of run {to_run!r}; start over with {reset(spec)}"
        )
    if not position.state.terms.same(spec.terms):
        raise Refused(
            f"{spec.id}: when run {to_run!r} ended, the table was synced by another cursor, key or strategy, with which the next sync could "
            "not go on; configure those of then, and roll back with them"
        )
    return position.state, version
