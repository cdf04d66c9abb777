"""`rollback` without a run: the runs whose rows can be there again, with what each landed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from incremental_assets.cli.answer import Answer, Grid, Note
from incremental_assets.cli.commands.reset import tables_to_reset
from incremental_assets.cli.opening import configured, opened
from incremental_assets.cli.reports import short, text
from incremental_assets.cli.selection import with_problems
from incremental_assets.core.captures.registry import capture_of
from incremental_assets.core.model.cures import BACK_TO_A_RUN
from incremental_assets.core.model.identifiers import render_table
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.planning.events import EventKind
from incremental_assets.core.planning.report import SyncReport

if TYPE_CHECKING:
    from incremental_assets.resources.runtime import Runtime

_EVENTS = 1_000
"""Events of a table that are looked through."""
_RUNS = 10
"""Runs of a table that are listed."""


def run(config: Path | None, patterns: Sequence[str]) -> Answer:
    """Run the command."""
    with opened(configured(config)) as runtime:
        found = tables_to_reset(runtime, patterns)
        landed = [kept for spec in found.specs if not capture_of(spec).is_whole for kept in _landed(runtime, spec.id)]
    grid = Grid(
        ("table", "run", "ended", "mode", "inserted", "updated", "deleted", "version", "watermark"),
        tuple(_row(each) for each in landed),
        right=frozenset({"inserted", "updated", "deleted", "version"}),
        spare=("watermark", "version", "mode"),
    )
    note = Note(f"go back to one: {BACK_TO_A_RUN}" if landed else "no run has landed yet", "strong")
    return with_problems(Answer({"runs": [_entry(each) for each in landed]}, (grid, note)), found)


def _landed(runtime: Runtime, table: TableId) -> list[tuple[datetime, SyncReport]]:
    """The last landing of each run, the newest first: a run may have landed several windows of a table. At most _RUNS, among the last _EVENTS."""
    runs: dict[str, tuple[datetime, SyncReport]] = {}
    for kept in reversed(runtime.checkpoints.history(table, _EVENTS)):
        if kept.event.kind is EventKind.LANDED and kept.event.report is not None:
            runs.setdefault(kept.event.run_id, (kept.at, kept.event.report))
    return list(runs.values())[:_RUNS]


def _row(landed: tuple[datetime, SyncReport]) -> tuple[str, ...]:
    at, report = landed
    rows = report.rows
    return (
        str(report.table),
        report.run_id,
        f"{at:%Y-%m-%d %H:%M:%S}Z",
        str(report.mode),
        *(f"{count:,}" if count else "" for count in (rows.inserted, rows.updated, rows.deleted)),
        "" if report.target_version is None else str(report.target_version),
        short(report.new_watermark),
    )


def _entry(landed: tuple[datetime, SyncReport]) -> dict[str, Any]:
    at, report = landed
    return {
        "source": report.table.source,
        "table": render_table(report.table.schema, report.table.name),
        "run_id": report.run_id,
        "ended": at.isoformat(),
        "mode": str(report.mode),
        "rows": asdict(report.rows),
        "target_version": report.target_version,
        "watermark": text(report.new_watermark),
    }
