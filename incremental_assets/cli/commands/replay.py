"""`replay`: rows that a contract holds are read again from the source, and those that pass land."""

from __future__ import annotations

import time
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from incremental_assets.cli import reports
from incremental_assets.cli.answer import Answer, Note
from incremental_assets.cli.audited import audited
from incremental_assets.cli.opening import configured, opened
from incremental_assets.cli.progress import progress_display
from incremental_assets.cli.selection import selected, with_problems
from incremental_assets.core.errors import IncrementalAssetsError, SelectionError
from incremental_assets.core.maintenance.replay import left_behind, replay_table
from incremental_assets.core.model.deed import Act
from incremental_assets.core.model.identifiers import render_table
from incremental_assets.core.model.quarantine import HeldRows
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.planning.plan import Mode, Request
from incremental_assets.core.planning.report import SyncReport
from incremental_assets.core.syncing.several_windows import together
from incremental_assets.core.words import counted


def run(config: Path | None, patterns: Sequence[str], reason: str = "") -> Answer:
    """Run the command."""
    begun, run_id = time.monotonic(), str(uuid.uuid4())
    with opened(configured(config)) as runtime, progress_display() as display, runtime.observer.joined_by(display):
        found = selected(runtime, patterns)
        specs = [spec for spec in found.specs if spec.contract is not None or left_behind(spec, runtime.held(spec))]
        troubles = [trouble for trouble in found.troubles if trouble.terms.contract is not None]
        if not specs and not troubles:
            raise SelectionError("there is nothing to replay: none of these tables has a `contract`")
        audited(runtime, Act.REPLAY, [spec.id for spec in specs], run_id, reason)
        display.begin(spec.id for spec in specs)
        done: list[SyncReport] = []
        for spec in specs:
            try:
                read = list(replay_table(spec, run_id, runtime.ports(spec.id.source)))
            except IncrementalAssetsError as error:
                done.append(SyncReport.failed(spec, Request(run_id, Mode.REPLAY), error))
            else:
                done += [together(read)] if read else []
        done += [reports.report_of(trouble, run_id, Mode.REPLAY) for trouble in troubles]
        held = {spec: runtime.held(spec) for spec in specs}
        summary = _answer(reports.answer(run_id, done, _summary(done, held), time.monotonic() - begun), held)
        return with_problems(summary, found)


def _answer(summary: Answer, held: dict[TableSpec, HeldRows | None]) -> Answer:
    left: list[dict[str, Any]] = [
        {"source": spec.id.source, "table": render_table(spec.id.schema, spec.id.name), "rows": rows and rows.rows}
        for spec, rows in held.items()
    ]
    notes = [Note(f"{spec.id}: {rows.sentence}", "warn") for spec, rows in held.items() if rows and rows.rows]
    return Answer({**summary.document, "held": left}, (*summary.shown, *notes), summary.exit_code)


def _summary(done: Sequence[SyncReport], held: dict[TableSpec, HeldRows | None]) -> str:
    landed = sum(report.rows.inserted + report.rows.updated for report in done)
    left = sum(rows.rows for rows in held.values() if rows)
    return f"{counted(landed, 'row')} landed, {counted(left, 'row')} still held"
