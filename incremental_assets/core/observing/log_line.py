"""What happens as a line of a log: a level, a sentence for people, and fields to search by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from incremental_assets.core.errors import sentence_of
from incremental_assets.core.model.compaction import Compacted, NotCompacted
from incremental_assets.core.model.retention import NotPruned, Pruned
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.model.verdict import Severity, Verdict
from incremental_assets.core.observing.json_line import Level
from incremental_assets.core.observing.occurrences import (
    CheckBegun,
    CheckEnded,
    Committed,
    CompactionEnded,
    LeaseTaken,
    LoadWentOn,
    Occurrence,
    PhaseBegun,
    PruningEnded,
    Retried,
    SourceObserved,
    SyncEnded,
)
from incremental_assets.core.observing.trace_ids import trace_of
from incremental_assets.core.planning.report import Status, SyncReport

_LEVELS = {Status.FAILED: Level.ERROR, Status.REFUSED: Level.WARNING, Status.BUSY: Level.WARNING}


@dataclass(frozen=True, slots=True)
class LogLine:
    """`fields` are texts, numbers, truths and lists of them."""

    level: Level
    event: str
    message: str
    fields: Mapping[str, Any] = field(default_factory=dict)


def log_line(occurrence: Occurrence) -> LogLine:
    """The line of what has happened."""
    match occurrence:
        case SourceObserved(tables, run_id, seconds, error):
            return _observed(tables, run_id, seconds, error)
        case LeaseTaken(table, run_id, seconds):
            return LogLine(
                Level.INFO, "lease_taken", f"{table}: lease taken", _of(table, run_id, seconds=_short(seconds))
            )
        case PhaseBegun() | LoadWentOn():
            return _under_way(occurrence)
        case Committed(spec, run_id, seq, version, by_spark):
            table = spec.id
            by = "spark" if by_spark else "tasks"
            fields = _of(table, run_id, seq=seq, version=version, by=by, why=by_spark)
            return LogLine(Level.INFO, "committed", f"{table}: committed as version {version}", fields)
        case SyncEnded(report):
            return _ended(report)
        case CheckBegun(table, check):
            return LogLine(Level.INFO, "check_begun", f"{table}: {check}", _of(table, check=str(check)))
        case CheckEnded(verdict):
            return _checked(verdict)
        case CompactionEnded(done) | PruningEnded(done):
            return _maintained(done)
        case Retried(table, error, run_id):
            return LogLine(Level.WARNING, "retried", f"{sentence_of(table, error)}; once more", _of(table, run_id))


def _under_way(occurrence: PhaseBegun | LoadWentOn) -> LogLine:
    match occurrence:
        case PhaseBegun(table, run_id, phase):
            return LogLine(Level.INFO, "phase_begun", f"{table}: {phase}", _of(table, run_id, phase=phase))
        case LoadWentOn(table, run_id, rows, of, left):
            fields = _of(table, run_id, rows=rows, of=of, seconds_left=left and _short(left))
            return LogLine(Level.INFO, "load_went_on", f"{table}: {occurrence.said}", fields)


def _observed(tables: tuple[TableId, ...], run_id: str, seconds: float, error: Exception | None) -> LogLine:
    fields = _run(run_id) | {"tables": [str(table) for table in tables], "seconds": _short(seconds)}
    what = str(tables[0]) if len(tables) == 1 else f"{len(tables)} tables of {tables[0].source}"
    if error is None:
        return LogLine(Level.INFO, "source_observed", f"looked at {what}", fields)
    return LogLine(Level.ERROR, "source_observed", f"{sentence_of(what, error)}", fields)


def _ended(report: SyncReport) -> LogLine:
    fields = _of(
        report.table,
        report.run_id,
        mode=str(report.mode),
        status=str(report.status),
        seconds=_short(report.seconds),
        guarantee=report.promise,
        lag=report.lag,
        version=report.target_version,
        seq=report.seq,
        warnings=list(report.warnings),
    )
    if report.status is Status.LANDED:
        fields |= {f"rows_{name}": count for name, count in asdict(report.rows).items()}
    told = report.error or report.reason or f"{report.rows.read:,} rows read"
    level = _LEVELS.get(report.status, Level.WARNING if report.warnings else Level.INFO)
    return LogLine(level, "sync_ended", f"{report.table}: {report.status}: {told}", fields)


def _checked(verdict: Verdict) -> LogLine:
    failed = Level.ERROR if verdict.severity is Severity.ERROR else Level.WARNING
    level = Level.INFO if verdict.passed or not verdict.was_checked else failed
    fields = _of(verdict.table, check=str(verdict.check), passed=verdict.passed, cure=verdict.cure)
    return LogLine(level, "check_ended", f"{verdict.table}: {verdict.check}: {verdict.detail}", fields)


def _maintained(done: Compacted | NotCompacted | Pruned | NotPruned) -> LogLine:
    match done:
        case Compacted():
            fields = _of(done.table, seconds=_short(done.seconds))
            return LogLine(Level.INFO, "compacted", f"{done.table}: compacted", fields)
        case Pruned():
            removed: dict[str, Any] = {
                "files": done.files,
                "bytes": done.bytes,
                "versions": done.versions,
                "quarantined": done.quarantined,
                "left": list(done.left),
            }
            fields = _of(done.table, **removed, seconds=_short(done.seconds))
            level = Level.WARNING if done.left else Level.INFO
            return LogLine(level, "pruned", f"{done.table}: {done.sentence}", fields)
    kind = "not_compacted" if isinstance(done, NotCompacted) else "not_pruned"
    return LogLine(Level.WARNING, kind, done.error, _of(done.table))


def _of(table: TableId, run_id: str = "", **more: Any) -> dict[str, Any]:
    """What has no value is left out."""
    found = {"table": str(table)} | _run(run_id) | more
    return {name: value for name, value in found.items() if value not in (None, "", [])}


def _run(run_id: str) -> dict[str, Any]:
    return {"run_id": run_id, "trace_id": f"{trace_of(run_id):032x}"} if run_id else {}


def _short(seconds: float) -> float:
    return round(seconds, 3)
