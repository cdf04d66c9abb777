"""Sync reports as JSON for `sync --json`, and as a table for people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from incremental_assets.cli.answer import BUSY, DONE, FAILED, REFUSED, Answer, Cell, Grid, Note, Shown, worst
from incremental_assets.cli.selection import Trouble
from incremental_assets.core.model.identifiers import render_table
from incremental_assets.core.model.window import Window
from incremental_assets.core.planning.plan import Mode
from incremental_assets.core.planning.report import Status, SyncReport
from incremental_assets.core.strategies import traits_of
from incremental_assets.core.words import counted

_CODES = {"landed": DONE, "idle": DONE, "busy": BUSY, "refused": REFUSED, "paused": DONE}
_TONES = {"landed": "good", "idle": "dim", "busy": "warn", "refused": "warn", "paused": "warn"}


def report_of(trouble: Trouble, run_id: str, mode: Mode) -> SyncReport:
    """A table that could not even be looked at is a failed one."""
    status, error = Status.of(trouble.error), str(trouble.error)
    return SyncReport(trouble.table, run_id, trouble.terms.strategy, mode, status, error=error)


def answer(run_id: str, reports: Sequence[SyncReport], summary: str, seconds: float) -> Answer:
    """The whole of a sync, a backfill: every table, then one sentence."""
    code = code_of(reports)
    document = {"run_id": run_id, "tables": [entry(report) for report in reports]}
    shown: list[Shown] = [grid(reports)] if any(report.status is not Status.IDLE for report in reports) else []
    shown += [Note(f"{report.table}: {warning}", "warn") for report in reports for warning in report.warnings]
    shown += [Note(f"{report.table}: {change}", "dim") for report in reports for change in report.schema_changes]
    shown += [
        Note(report.error, "warn" if report.status is Status.PAUSED else "bad") for report in reports if report.error
    ]
    shown.append(Note(f"{summary} ({seconds:.1f} s)", "strong"))
    return Answer(document, tuple(shown), code)


def code_of(reports: Sequence[SyncReport]) -> int:
    """What is paused is no failure beside others; where nothing else was asked for, nothing was done, or not to the end."""
    last = {report.table: report.status for report in reports}
    if last and all(status is Status.PAUSED for status in last.values()):
        return BUSY
    return worst([_CODES.get(report.status, FAILED) for report in reports])


def entry(report: SyncReport) -> dict[str, Any]:
    """One table of the document."""
    window = report.window
    return {
        "source": report.table.source,
        "table": render_table(report.table.schema, report.table.name),
        "strategy": str(report.strategy),
        "mode": str(report.mode),
        "status": str(report.status),
        "guarantee": report.guarantee and str(report.guarantee),
        "guarantee_reason": report.guarantee_reason or None,
        "within_seconds": report.within and report.within.total_seconds(),
        "window": {
            "lower": text(window and window.lower),
            "upper": text(window and window.upper),
            "settled": text(report.settled),
        },
        "previous_watermark": text(report.previous_watermark),
        "new_watermark": text(report.new_watermark),
        "rows": asdict(report.rows),
        "target_version": report.target_version,
        "by_spark": report.by_spark or None,
        "history": report.history and asdict(report.history),
        "schema_changes": [change.to_json() for change in report.schema_changes],
        "seconds": round(report.seconds, 3),
        "error": report.error,
        "reason": report.reason or None,
        "next_look": report.next_look and report.next_look.isoformat(),
        "deletes_due": report.deletes_due and report.deletes_due.isoformat(),
        "warnings": list(report.warnings),
    }


def grid(reports: Sequence[SyncReport], title: str = "") -> Grid:
    """One line per table. Columns that are empty in every table are left out on a terminal."""
    return Grid(
        columns=(
            "table",
            "status",
            "read",
            "inserted",
            "updated",
            "replaced",
            "deleted",
            "unchanged",
            "late",
            "quarantined",
            "seconds",
            "guarantee",
            "watermark",
        ),
        rows=tuple(_row(report) for report in reports),
        right=frozenset(
            {"read", "inserted", "updated", "replaced", "deleted", "unchanged", "late", "quarantined", "seconds"}
        ),
        spare=("guarantee", "watermark", "unchanged"),
        title=title,
    )


def summary(reports: Sequence[SyncReport]) -> str:
    """The result in one sentence."""
    left = _not_looked_at(reports)
    looked = [report for report in reports if report.next_look is None]
    if reports and all(report.status is Status.IDLE for report in reports):
        unchanged = f"nothing changed in {_tables(len(looked))}" if looked else ""
        return "; ".join(filter(None, (unchanged, left)))
    counts = {status: sum(report.status is status for report in looked) for status in Status}
    words = {Status.LANDED: "synced", Status.IDLE: "nothing changed in"}
    parts = [f"{words.get(status, f'{status}:')} {_tables(count)}" for status, count in counts.items() if count]
    rows, deleted = (sum(getattr(report.rows, name) for report in reports) for name in ("read", "deleted"))
    replaced = sum(map(_replaced, reports))
    gone = f", {deleted - replaced:,} deleted" if deleted > replaced else ""
    instead = f", {replaced:,} replaced" if replaced else ""
    said = f"{', '.join(parts) or 'no tables'}; {counted(rows, 'row')} read{gone}{instead}"
    return f"{said}; {left}" if left else said


def _not_looked_at(reports: Sequence[SyncReport]) -> str:
    """What nobody looked at, as it is not due: whole tables, and the deletes of others; empty where there is nothing."""
    tables = [report.next_look for report in reports if report.next_look is not None]
    deletes = [report.deletes_due for report in reports if report.deletes_due is not None]
    parts = [f"{_tables(len(tables))} not looked at before {min(tables):%Y-%m-%d %H:%M}Z"] if tables else []
    if deletes:
        parts.append(f"deletes of {_tables(len(deletes))} not looked for before {min(deletes):%Y-%m-%d %H:%M}Z")
    return f"{', '.join(parts)} (`sync --now` looks)" if parts else ""


def _replaced(report: SyncReport) -> int:
    """Rows in the place of others: where a copy is replaced whole, all are counted as inserted, and all before them as deleted."""
    whole = report.mode is Mode.FULL_REFRESH or traits_of(report.strategy).overwrites
    return min(report.rows.inserted, report.rows.deleted) if whole else 0


def text(value: object) -> str | None:
    """A cursor value as the source can cast it back."""
    return None if value is None else str(value)


def bounds(window: Window) -> dict[str, str | None]:
    """A window as a document shows it."""
    return {"lower": text(window.lower), "upper": text(window.upper)}


def short(watermark: object) -> str:
    """A watermark for people: no finer than the second. One in UTC keeps its `Z`, as one without is in the zone of its column."""
    seconds, fraction, rest = ("" if watermark is None else str(watermark)).partition(".")
    return seconds.replace("T", " ") + ("Z" if fraction and rest.endswith("Z") else "")


def number(value: int) -> Cell | str:
    """A zero is nothing to look at."""
    return f"{value:,}" if value else ""


def _row(report: SyncReport) -> tuple[Cell | str, ...]:
    rows, replaced = report.rows, _replaced(report)
    return (
        str(report.table),
        Cell(str(report.status), _TONES.get(report.status, "bad")),
        number(rows.read),
        number(rows.inserted - replaced),
        number(rows.updated),
        number(replaced),
        number(rows.deleted - replaced),
        number(rows.unchanged),
        Cell(f"{rows.late:,}", "warn") if rows.late else "",
        Cell(f"{rows.quarantined:,}", "bad") if rows.quarantined else "",
        f"{report.seconds:.1f}",
        report.promise,
        short(report.new_watermark),
    )


def _tables(count: int) -> str:
    return counted(count, "table")
