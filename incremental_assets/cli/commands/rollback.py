"""`rollback`: take copies back to what an earlier run left, with a row in the audit trail."""

from __future__ import annotations

import time
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from incremental_assets.cli import reports
from incremental_assets.cli.answer import Answer
from incremental_assets.cli.commands.reset import tables_to_reset
from incremental_assets.cli.opening import configured, opened
from incremental_assets.cli.selection import with_problems
from incremental_assets.core.errors import IncrementalAssetsError, Refused, SelectionError
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.planning.plan import Mode, Request
from incremental_assets.core.planning.report import Status, SyncReport
from incremental_assets.core.syncing.rollback import roll_back
from incremental_assets.core.words import counted

if TYPE_CHECKING:
    from resources.runtime import Runtime


def run(config: Path | None, patterns: Sequence[str], *, to_run: str, yes: bool) -> Answer:
    """Run the command."""
    if not patterns:
        raise SelectionError("name the tables with --select source.schema.table; --select '*' is all of them")
    begun, run_id = time.monotonic(), str(uuid.uuid4())
    with opened(configured(config)) as runtime:
        found = tables_to_reset(runtime, patterns)
        if not yes:
            raise Refused(_consequences(runtime, found.specs, to_run))
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
    runtime.observer.on_report(report)
    return report


def _consequences(runtime: Runtime, specs: Sequence[TableSpec], to_run: str) -> str:
    """The effect of a rollback, table by table."""
    lines = []
    positions = runtime.checkpoints.positions()
    for spec in specs:
        past, now = runtime.checkpoints.position_after(spec.id, to_run), positions.get(spec.id)
        if past is None or past.state is None or past.target is None:
            lines.append(f"{spec.id}: no sync of run {to_run!r} has landed here, so that it would be refused")
            continue
        was = now.state.position if now and now.state else "nothing"
        version = now.target[1] if now and now.target else "none"
        lines.append(
            f"{spec.id}: the copy would go from version {version} to its version {past.target[1]}, and the watermark from {was} to "
            f"{past.state.position}; the next sync reads everything from there on again"
        )
    return "\n".join([*lines, "nothing was changed; add --yes to confirm"])
