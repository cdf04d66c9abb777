"""Before a sync: take over what a dead run left, and make the checkpoint table and the lake tell the same."""

from __future__ import annotations

import uuid

from incremental_assets.core.errors import TargetChanged
from incremental_assets.core.plan import Mode, Request, Ticket
from incremental_assets.core.ports import Event, EventKind, Lease, OpenIntent, Ports, Position, Target
from incremental_assets.core.report import Status, SyncReport
from incremental_assets.core.table import TableSpec


def recover(spec: TableSpec, request: Request, lease: Lease, ports: Ports) -> Position:
    """Where the table stands once an intent left open is closed, and a lost checkpoint table rebuilt from the lake."""
    position = ports.checkpoints.position(spec.id)
    if position.open is not None:
        return _take_over(spec, request, position, position.open, lease, ports)
    if position.state is None:
        return agree(spec, request, position, ports.lake.inspect(spec, None), lease)
    return position


def agree(spec: TableSpec, request: Request, position: Position, target: Target | None, lease: Lease) -> Position:
    """The position, rebuilt from the lake where the lake knows more. Raises TargetChanged where somebody else changed the table."""
    refreshes = request.mode is Mode.FULL_REFRESH
    if target is None:
        if position.target is not None and not refreshes:
            raise _changed(spec, "the table is gone from the lake")
        return position
    if not target.app_id:
        raise TargetChanged(f"{spec.id}: the lake already holds a table there that this program did not make; choose another `lake`, or move that table away")
    knows_less = target.seq > position.last_seq or (position.state is None and target.state is not None)
    if position.app_id and position.app_id != target.app_id and position.state is not None and not refreshes:
        raise _changed(spec, "another table lies in its place")
    if position.target is not None and not refreshes and not knows_less:
        table_id, version = position.target
        if target.table_id != table_id:
            raise _changed(spec, "the table was made anew")
        if target.version < version:
            raise _changed(spec, f"the table is at version {target.version}, before the {version} of the last sync: it was restored from an older copy")
    if target.foreign and not refreshes:
        raise _changed(spec, f"the rows were changed by another hand ({target.foreign})")
    return _rebuild(spec, request, target, lease) if knows_less else position


def _take_over(spec: TableSpec, request: Request, position: Position, left: OpenIntent, lease: Lease, ports: Ports) -> Position:
    """Fence first, then look whether the batch landed. What never landed is read anew: later rows are then seen as well."""
    commit = None
    if left.staged:
        target = ports.lake.inspect(spec, None)
        seq = 1 + max(position.last_seq, target.seq if target else -1)
        fence = Ticket(position.app_id, seq, uuid.uuid4().hex)
        lease.record(Event(spec.id, EventKind.FENCE, request.run_id, fence.seq, fence.batch_id, fence.app_id))
        ports.lake.fence(spec, fence, position.state)
        commit = ports.lake.find(spec, left.batch_id)
    # Discarded first: once the sequence is closed, nobody would look for its batch again.
    ports.stage.discard(spec.id, left.batch_id)
    if commit is None or commit.state is None:
        lease.record(Event(spec.id, EventKind.ABANDONED, request.run_id, left.seq, left.batch_id, position.app_id, detail="its run ended before it landed"))
    else:
        report = SyncReport(
            table=spec.id,
            run_id=request.run_id,
            strategy=spec.strategy,
            mode=request.mode,
            status=Status.LANDED,
            previous_watermark=position.state.watermark if position.state else None,
            new_watermark=commit.state.watermark,
            seq=left.seq,
            rows=commit.rows,
            target_version=commit.version,
            reason="found in the lake after its run had ended",
        )
        fenced = ports.lake.inspect(spec, None)
        version = fenced.version if fenced else commit.version
        landed = (commit.table_id, version)
        lease.record(Event(spec.id, EventKind.LANDED, request.run_id, left.seq, left.batch_id, position.app_id, commit.state, report, landed))
    return ports.checkpoints.position(spec.id)


def _rebuild(spec: TableSpec, request: Request, target: Target, lease: Lease) -> Position:
    """Without a state in the lake's log (it was cleaned) the table is read again from the start, under sequences above all that were used."""
    where = (target.table_id, target.version)
    detail = "rebuilt from the lake" if target.state else "the lake's log no longer holds a position: the table is read again from the start"
    lease.record(Event(spec.id, EventKind.REBUILT, request.run_id, target.seq, app_id=target.app_id, state=target.state, target=where, detail=detail))
    return Position(app_id=target.app_id, last_seq=target.seq, state=target.state, target=where)


def _changed(spec: TableSpec, what: str) -> TargetChanged:
    return TargetChanged(
        f"{spec.id}: {what}, so nothing was written; read everything again with `incremental-assets sync --select {spec.id} --full-refresh`, "
        f"or start over with `incremental-assets reset --select {spec.id}`"
    )
