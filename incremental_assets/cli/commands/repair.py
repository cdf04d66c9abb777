"""`repair`: read the drifted ranges again, and nothing else, through Dagster; then check them again."""

from __future__ import annotations

import time
import uuid
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from incremental_assets.cli import reports
from incremental_assets.cli.answer import FAILED, Answer, Note, worst
from incremental_assets.cli.opening import configured, opened
from incremental_assets.cli.progress import ProgressDisplay, progress_display
from incremental_assets.cli.selection import Selection, selected, with_problems
from incremental_assets.core.checks.repair import in_words
from incremental_assets.core.errors import SelectionError, TermsChanged
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.model.verdict import Verdict
from incremental_assets.core.observing.observers import Observer
from incremental_assets.core.observing.occurrences import CheckEnded, Occurrence
from incremental_assets.core.planning.events import Checkpoint
from incremental_assets.core.planning.plan import Mode, Request
from incremental_assets.core.planning.preflight import check_terms
from incremental_assets.core.planning.report import RowCounts, Status, SyncReport
from incremental_assets.core.words import counted

if TYPE_CHECKING:
    from incremental_assets.resources.runtime import Runtime

_NO_COPY = "nothing has landed yet"


class Verdicts(Observer):
    """The last verdict of every table."""

    def __init__(self) -> None:
        self.last: dict[TableId, Verdict] = {}

    def notify(self, occurrence: Occurrence) -> None:
        """One assignment, which is safe from any thread."""
        if isinstance(occurrence, CheckEnded):
            self.last[occurrence.verdict.table] = occurrence.verdict


def run(config: Path | None, patterns: Sequence[str]) -> Answer:
    """Run the command."""
    if not patterns:
        raise SelectionError("name the tables with --select source.schema.table; --select '*' is all of them")
    begun, run_id, seen = time.monotonic(), str(uuid.uuid4()), Verdicts()
    with opened(configured(config)) as runtime, progress_display() as display, runtime.observer.joined_by(display):
        found = selected(runtime, patterns)
        with runtime.observer.joined_by(seen):
            done = _repaired(runtime, found, run_id, display)
    done += [reports.report_of(trouble, run_id, Mode.REPAIR) for trouble in found.troubles]
    return with_problems(_answer(run_id, done, seen.last, time.monotonic() - begun), found)


def _repaired(runtime: Runtime, found: Selection, run_id: str, display: ProgressDisplay) -> list[SyncReport]:
    """A report per table, source by source; what no check has found needs neither Dagster nor Spark."""
    done: list[SyncReport] = []
    request, positions = Request(run_id, Mode.REPAIR), runtime.checkpoints.positions()
    drifted = {table for table, known in runtime.checkpoints.verified().items() if known.drift}
    for source in runtime.configuration.sources:
        specs = found.of(source.name)
        display.begin(spec.id for spec in specs)
        refused = {spec.id: why for spec in specs if (why := _refused(spec, positions.get(spec.id)))}
        done += [SyncReport.failed(spec, request, refused[spec.id]) for spec in specs if spec.id in refused]
        specs = tuple(spec for spec in specs if spec.id not in refused)
        idle = [spec for spec in specs if spec.id not in drifted]
        done += [
            replace(SyncReport.of(spec, request, Status.IDLE), reason=_idle(positions.get(spec.id))) for spec in idle
        ]
        moving = [spec for spec in specs if spec.id in drifted]
        if moving:
            runtime.begin_session()
            # Dagster costs a second to import: only once there is something to be repaired.
            from incremental_assets.cli.dagster_runs import DagsterRuns

            done += DagsterRuns(runtime, source.name).repair(moving, request)
    return done


def _nothing(done: Sequence[SyncReport]) -> str:
    missing = sum(report.reason == _NO_COPY for report in done)
    return "nothing to repair" + (f"; of {counted(missing, 'table')} {_NO_COPY}" if missing else "")


def _idle(position: Checkpoint | None) -> str:
    """Of a table without a copy no check has found anything."""
    return "no check has found drift" if position and position.state else _NO_COPY


def _refused(spec: TableSpec, position: Checkpoint | None) -> TermsChanged | None:
    """Why nothing of a table can be repaired: no check of it, as it is configured now, can find drift."""
    try:
        check_terms(spec, position.state if position else None)
    except TermsChanged as why:
        return why
    return None


def _answer(run_id: str, done: Sequence[SyncReport], seen: dict[TableId, Verdict], seconds: float) -> Answer:
    landed = [report.rows for report in done if report.status is Status.LANDED]
    total = RowCounts(
        read=sum(rows.read for rows in landed),
        inserted=sum(rows.inserted for rows in landed),
        updated=sum(rows.updated for rows in landed),
        deleted=sum(rows.deleted for rows in landed),
    )
    whole = reports.answer(run_id, done, in_words(total) if landed else _nothing(done), seconds)
    checked = [verdict for verdict in seen.values() if verdict.table in {report.table for report in done}]
    notes = [
        Note(f"{verdict.table}: checked again: {verdict.detail}", "good" if verdict.passed else "bad")
        for verdict in checked
    ]
    entries = [_entry(entry, report, seen) for entry, report in zip(whole.document["tables"], done, strict=True)]
    failed = [FAILED for verdict in checked if not verdict.passed]
    return Answer({**whole.document, "tables": entries}, (*whole.shown, *notes), worst([whole.exit_code, *failed]))


def _entry(entry: dict[str, object], report: SyncReport, seen: dict[TableId, Verdict]) -> dict[str, object]:
    """The entry of a sync, and the rows that still drift; None where the table was not checked again."""
    verdict = seen.get(report.table)
    return {**entry, "drift": verdict and verdict.measured}
