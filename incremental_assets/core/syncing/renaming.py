"""Give columns of a copy the names that the source has given them: one commit for all, with a sequence and an event of its own, before the sync.

The position stays where it was. A process that dies before the commit has changed nothing, and of one that dies behind it the next run
finds the commit in the log, as it does a batch.
"""

from __future__ import annotations

import time
import uuid
from dataclasses import replace

from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.planning.events import Event, EventKind
from incremental_assets.core.planning.plan import CommitIds, Renaming, Request
from incremental_assets.core.planning.renames import renamed, renames_of
from incremental_assets.core.planning.report import Status, SyncReport
from incremental_assets.core.planning.schema_changes import rule_of
from incremental_assets.core.planning.target import AsLeft
from incremental_assets.core.ports import Lease, Ports
from incremental_assets.core.syncing.following import follow
from incremental_assets.core.syncing.recovery import agree


def rename_columns(spec: TableSpec, request: Request, lease: Lease, ports: Ports) -> SyncReport | None:
    """What was renamed; None where nothing was."""
    begun = time.monotonic()
    position, target = agree(spec, request, ports.checkpoints.position(spec.id), lease, ports)
    before = position.state
    renames = renames_of(spec, before)
    if before is None or target is None or not renames:
        return None
    names = CommitIds(target.app_id, 1 + max(position.last_seq, target.seq), uuid.uuid4().hex)
    changes = tuple(each.change(rule_of(spec)) for each in renames)
    state = replace(renamed(spec, before, renames), seq=names.seq, batch_id=names.batch_id, changed=changes)
    event = Event(spec.id, EventKind.INTENT, request.run_id, names.seq, names.batch_id, names.app_id)
    lease.record(event)
    # From here on its commit may be on its way.
    lease.record(replace(event, kind=EventKind.STAGED))
    commit = ports.writer.rename(spec, Renaming(names, request.run_id, renames), state)
    history = follow(spec, request.run_id, ports.historian)
    watermark = before.position.watermark
    report = replace(
        SyncReport.of(spec, request, Status.LANDED),
        previous_watermark=watermark,
        new_watermark=watermark,
        seq=names.seq,
        target_version=commit.version,
        seconds=time.monotonic() - begun,
        history=history,
        schema_changes=changes,
    )
    landed = replace(event, kind=EventKind.LANDED, state=state, report=report)
    lease.record(replace(landed, target=AsLeft(commit.table_id, commit.version, names.seq)))
    return report
