"""Recovers before a sync: finishes what a dead run left, and makes the checkpoint table and the lake agree."""

from __future__ import annotations

import uuid
from dataclasses import replace

from incremental_assets.core.errors import Overtaken, TargetChanged
from incremental_assets.core.model.cures import full_refresh, reset
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.planning.events import Checkpoint, Event, EventKind, OpenIntent
from incremental_assets.core.planning.plan import CommitIds, Mode, Request
from incremental_assets.core.planning.report import Status, SyncReport
from incremental_assets.core.planning.target import AsLeft, Commit, Target
from incremental_assets.core.ports import Checkpoints, Lease, Ports
from incremental_assets.core.syncing.following import catch_up
from incremental_assets.core.syncing.foreign_changes import (
    knows_less,
    not_ours,
    other_hand,
    other_version,
    rows_changed,
)

FORGOTTEN = 1000
"""More sequences than were ever announced in a row without a commit."""


def recover(spec: TableSpec, request: Request, lease: Lease, ports: Ports) -> Checkpoint:
    """The position of the table after an open intent was closed, and a lost checkpoint table rebuilt from the lake."""
    position = ports.checkpoints.position(spec.id)
    if position.open is None and position.state is None:
        return agree(spec, request, position, lease, ports)[0]
    return _take_over(spec, request, position, lease, ports)


def unreported(request: Request, position: Checkpoint) -> SyncReport | None:
    """The unreported landing of a dead run that this one has found; what this run lands itself is reported in its place."""
    found = position.last_report
    if request.mode is not Mode.SYNC or found is None:
        return None
    return found if (found.run_id, found.status) == (request.run_id, Status.LANDED) else None


def agree(
    spec: TableSpec, request: Request, position: Checkpoint, lease: Lease, ports: Ports
) -> tuple[Checkpoint, Target | None]:
    """The position, rebuilt from the lake if the lake knows more, and the target. Raises TargetChanged if another writer changed it.

    After a reset there is no `position.target`: the table is then taken as it is found.
    """
    target = ports.reader.inspect(spec, position.target.version if position.target else None)
    check_ours(spec, request, position, target)
    check_single(spec, position, target, ports.checkpoints)
    if target is None:
        # Nothing can have landed in a table that does not exist, whatever is recorded of one.
        return (position if position.state is None else replace(position, state=None)), None
    if not knows_less(position, target):
        return position, target
    fenced = _fenced(spec, position, target, ports)
    return _rebuild(spec, request, position, fenced, lease), fenced


def check_ours(spec: TableSpec, request: Request, position: Checkpoint, target: Target | None) -> None:
    """Raises TargetChanged if another table lies there than our commits left, or none where one was."""
    if target is not None and not target.app_id:
        raise TargetChanged(not_ours(spec))
    what = "" if request.mode is Mode.FULL_REFRESH else other_hand(position, target)
    if what:
        raise _changed(spec, what)


def check_single(spec: TableSpec, position: Checkpoint, target: Target | None, checkpoints: Checkpoints) -> None:
    """Raises TargetChanged where the copy of another table lies, as `target` may have put it there before: its rows would stay among these."""
    if target is None or target.app_id == position.app_id:
        return
    other = checkpoints.other_of(target.app_id, spec.id)
    if other is not None:
        raise TargetChanged(
            f"{spec.id}: the copy that lies where `target` puts this one is that of {other}, so nothing was written; remove that folder, where nobody needs it, or write another `target`"
        )


def as_the_lake_knows(position: Checkpoint, target: Target) -> Checkpoint:
    """The position by the lake's log, which knows more than the checkpoint table; without a state in the log, one that reads from the start."""
    state = target.state or (position.state.forgotten(target.seq) if position.state else None)
    return replace(
        position,
        app_id=target.app_id,
        last_seq=max(position.last_seq, target.seq),
        state=state,
        target=target.as_left,
        rebuilt=f"the checkpoint table knew less of this table than the lake does, so its position was taken from there: {_found(target)}",
    )


def check_untouched(spec: TableSpec, request: Request, before: Target | None, now: Target | None) -> None:
    """Raises TargetChanged if another writer committed while the batch was read. `now` is asked about the commits since `before`."""
    if before is None or request.mode is Mode.FULL_REFRESH:
        return
    if now is None:
        raise _changed(spec, "the table is gone from the lake")
    what = other_version(before.as_left, now) or rows_changed(now)
    if what:
        raise _changed(spec, what)


def _take_over(spec: TableSpec, request: Request, position: Checkpoint, lease: Lease, ports: Ports) -> Checkpoint:
    """Fence first, then check whether the batch landed. A batch that never landed is read again: later rows are then seen as well."""
    left = position.open
    if left is None:
        return position
    target = ports.reader.inspect(spec, position.target.version if position.target else None)
    if target is None:
        # A fence would make a table where a lake is missing, such as a folder that is not mounted.
        check_ours(spec, request, position, None)
    if target is not None and target.seq > position.last_seq:
        # An older copy of the checkpoint table. The lake has newer commits, and what landed there fences.
        position, _ = agree(spec, request, position, lease, ports)
    elif left.staged:
        _fence(spec, request, position, lease, ports)
    commit = ports.reader.find(spec, left.batch_id)
    if commit is not None and commit.rolled_back_to is not None:
        # A rollback that died behind its commit.
        names = CommitIds(position.app_id, left.seq, left.batch_id)
        ports.writer.roll_back_quarantine(spec, names, commit.rolled_back_to)
    elif commit is not None:
        ports.quarantine.settle_landed(spec, left.batch_id)
    # Before the sequence is closed: of a table that then stands still, nobody would look for what its history lacks.
    catch_up(spec, request, ports.historian)
    # Discarded first: once the sequence is closed, no run would look for its batch again.
    ports.stage.discard(spec.id, left.batch_id)
    lease.record(_closing(spec, request, position, left, commit))
    return replace(ports.checkpoints.position(spec.id), rebuilt=position.rebuilt)


def _fence(spec: TableSpec, request: Request, position: Checkpoint, lease: Lease, ports: Ports) -> None:
    """Prevents the dead run from committing later. An engine may still be at its last operation, whose commit can come first, once."""
    for seq in (1 + position.last_seq, 2 + position.last_seq):
        fence = CommitIds(position.app_id, seq, uuid.uuid4().hex)
        # Only while the lease is ours: otherwise the other writer is not a dead run.
        lease.record(Event(spec.id, EventKind.FENCE, request.run_id, fence.seq, fence.batch_id, fence.app_id))
        try:
            # It carries no state: the newest one in the log is in force, and the sleeping run may write that at this moment.
            ports.writer.fence(spec, fence, None)
        except Overtaken:
            if seq > 1 + position.last_seq:
                raise
        else:
            return


def _closing(spec: TableSpec, request: Request, position: Checkpoint, left: OpenIntent, commit: Commit | None) -> Event:
    """The event that closes an open sequence: abandoned, or landed with its own numbers."""
    names = Event(spec.id, EventKind.ABANDONED, request.run_id, left.seq, left.batch_id, position.app_id)
    if commit is None or commit.state is None:
        return replace(names, detail="its run ended before it landed")
    report = replace(
        SyncReport.of(spec, request, Status.LANDED),
        previous_watermark=position.state.position.watermark if position.state else None,
        new_watermark=commit.state.position.watermark,
        seq=left.seq,
        rows=commit.rows,
        target_version=commit.version,
        schema_changes=commit.state.changed,
        reason="found in the lake after its run had ended",
    )
    if commit.rolled_back_to is not None:
        report = replace(report, mode=Mode.ROLLBACK)
    if position.state is not None and commit.state.seq <= position.state.seq:
        return replace(names, kind=EventKind.LANDED, report=report)
    # At its own version, not at the fence's: changes by another writer in between must still be noticed.
    return replace(
        names,
        kind=EventKind.LANDED,
        state=commit.state,
        report=report,
        target=AsLeft(commit.table_id, commit.version, left.seq),
    )


def _fenced(spec: TableSpec, position: Checkpoint, target: Target, ports: Ports) -> Target:
    """The target behind a fence above every number that a checkpoint table may have announced and then forgotten.

    It is not announced itself: the lake still knows more until the position is rebuilt.
    """
    commit_ids = CommitIds(target.app_id, 1 + FORGOTTEN + max(position.last_seq, target.seq), uuid.uuid4().hex)
    ports.writer.fence(spec, commit_ids, None)
    fenced = ports.reader.inspect(spec, target.version)
    if fenced is None or fenced.foreign:
        raise _changed(spec, "the rows were changed by another writer at this moment")
    return fenced


def _rebuild(spec: TableSpec, request: Request, position: Checkpoint, target: Target, lease: Lease) -> Checkpoint:
    """The position as the lake has it, recorded. Where its log has no state (it was cleaned), the table is read again from the start, with sequences above all used ones."""
    known = as_the_lake_knows(position, target)
    lease.record(
        Event(
            spec.id,
            EventKind.REBUILT,
            request.run_id,
            target.seq,
            app_id=target.app_id,
            state=known.state,
            target=known.target,
            detail=_found(target),
        )
    )
    return known


def _found(target: Target) -> str:
    """What the lake's log could still tell."""
    if target.state is not None:
        return "rebuilt from the lake"
    return "the lake's log no longer holds a position: the table is read again from the start"


def _changed(spec: TableSpec, what: str) -> TargetChanged:
    return TargetChanged(
        f"{spec.id}: {what}, so nothing was written; read everything again with {full_refresh(spec)}, "
        f"or start over with {reset(spec)}"
    )
