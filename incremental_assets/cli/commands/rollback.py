"""`rollback`: take copies back to what an earlier run left, with a row in the audit trail."""

from __future__ import annotations

import time
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from incremental_assets.cli import reports
from incremental_assets.cli.answer import Answer
from incremental_assets.cli.audited import audited
from incremental_assets.cli.commands.reset import tables_to_reset, unconfirmed
from incremental_assets.cli.opening import configured, opened
from incremental_assets.cli.selection import Selection, unworkable, with_problems
from incremental_assets.core.errors import IncrementalAssetsError, Refused, SelectionError
from incremental_assets.core.maintenance.rollback import roll_back, would_refuse
from incremental_assets.core.model.deed import Act
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.observing.occurrences import SyncEnded
from incremental_assets.core.planning.events import Checkpoint
from incremental_assets.core.planning.plan import Mode, Request
from incremental_assets.core.planning.report import Status, SyncReport
from incremental_assets.core.words import counted

if TYPE_CHECKING:
    from incremental_assets.resources.runtime import Runtime


def run(config: Path | None, patterns: Sequence[str], *, to_run: str, yes: bool, reason: str = "") -> Answer:
    """Run the command."""
    if not patterns:
        raise SelectionError("name the tables with --select source.schema.table; --select '*' is all of them")
    begun, run_id = time.monotonic(), str(uuid.uuid4())
    with opened(configured(config)) as runtime:
        found = tables_to_reset(runtime, patterns)
        if not yes and found.specs:
            raise _unconfirmed(runtime, found, to_run)
        audited(runtime, Act.ROLLBACK, [spec.id for spec in found.specs], run_id, reason)
        done = [_rolled_back(runtime, spec, to_run, run_id) for spec in found.specs]
    done += [reports.report_of(trouble, run_id, Mode.ROLLBACK) for trouble in found.troubles]
    landed = sum(report.status is Status.LANDED for report in done)
    summary = f"{counted(landed, 'table')} rolled back to run {to_run}"
    return with_problems(reports.answer(run_id, done, summary, time.monotonic() - begun), found)


def _rolled_back(runtime: Runtime, spec: TableSpec, to_run: str, run_id: str) -> SyncReport:
    try:
        report = roll_back(spec, to_run, run_id, runtime.ports(spec.id.source))
    except IncrementalAssetsError as error:
        report = SyncReport.failed(spec, Request(run_id, Mode.ROLLBACK), error)
    runtime.observer.notify(SyncEnded(report))
    return report


def _unconfirmed(runtime: Runtime, found: Selection, to_run: str) -> IncrementalAssetsError:
    """The effect of a rollback, table by table; where every table would be refused there is nothing to confirm."""
    positions = runtime.checkpoints.positions()
    lines, refusals = [], []
    for spec in found.specs:
        now = positions.get(spec.id, Checkpoint())
        if refusal := would_refuse(spec, to_run, now, runtime.ports(spec.id.source)):
            refusals.append(refusal)
        else:
            lines.append(_consequence(runtime, spec, to_run, now))
    told = [*map(str, refusals), *unworkable(found)]
    if not lines:
        return refusals[0] if len(told) == 1 else SelectionError("\n".join(told))
    return Refused(unconfirmed([*lines, *map(str, refusals)], found))


def _consequence(runtime: Runtime, spec: TableSpec, to_run: str, now: Checkpoint) -> str:
    past = runtime.checkpoints.position_after(spec.id, to_run)
    to = past.target.version if past and past.target else "none"
    at = past.state.position if past and past.state else "nothing"
    was = now.state.position if now.state else "nothing"
    version = now.target.version if now.target else "none"
    return (
        f"{spec.id}: the copy would go from version {version} to its version {to}, and the watermark from {was} to "
        f"{at}; the next sync reads everything from there on again"
    )
