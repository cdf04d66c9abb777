"""Traces by OpenTelemetry: a span per sync, with its lease, its looks and its phases as children, and one per check.

Where they go is said by OpenTelemetry's own variables (`OTEL_EXPORTER_OTLP_ENDPOINT` and the others). A span says which table, how much and
how it ended: no key, no value of a row, no SQL and no message of an error, which may hold any of them; the run's id leads to those.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import singledispatchmethod
from typing import TYPE_CHECKING

from opentelemetry.context import Context
from opentelemetry.sdk.trace.id_generator import IdGenerator, RandomIdGenerator
from opentelemetry.trace import Span, Status, StatusCode, Tracer, set_span_in_context

from incremental_assets.core.model.compaction import Compacted
from incremental_assets.core.observing.observers import Observer
from incremental_assets.core.observing.occurrences import (
    CheckBegun,
    CheckEnded,
    Committed,
    CompactionEnded,
    LeaseTaken,
    Occurrence,
    PhaseBegun,
    PruningEnded,
    Retried,
    SourceObserved,
    SyncEnded,
)
from incremental_assets.core.observing.trace_ids import trace_of
from incremental_assets.core.planning.report import Status as Ended

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.util.types import AttributeValue

    from incremental_assets.core.model.retention import Pruned
    from incremental_assets.core.model.table_id import TableId
    from incremental_assets.core.model.verdict import Check
    from incremental_assets.core.planning.report import SyncReport

_TABLE, _RUN = "incremental_assets.table", "incremental_assets.run_id"


class TraceIds(IdGenerator):
    """Random ones, but for spans that begin a run's trace."""

    def __init__(self) -> None:
        self._random, self._local = RandomIdGenerator(), threading.local()

    def of_run(self, run_id: str) -> None:
        """The next trace that this thread begins is that run's; without an id, any."""
        self._local.next = trace_of(run_id) if run_id else None

    def generate_trace_id(self) -> int:
        found: int | None = getattr(self._local, "next", None)
        return found or self._random.generate_trace_id()

    def generate_span_id(self) -> int:
        return self._random.generate_span_id()


class Open:
    """The span of one table's sync, and the child that it is in."""

    def __init__(self, span: Span) -> None:
        self.span, self.inside = span, set_span_in_context(span, Context())
        self.child: Span | None = None

    def leave(self, now: int) -> None:
        """The phase has ended."""
        if self.child is not None:
            self.child.end(now)
        self.child = None


@dataclass(frozen=True, slots=True)
class Begin:
    """What a span begins with. Without `inside` it begins a trace: that of the run, or one of its own."""

    name: str
    at: int
    attributes: Mapping[str, AttributeValue]
    run_id: str = ""
    inside: Context | None = None


class Tracing(Observer):
    """Spans of everything that happens, as it happens."""

    def __init__(self, provider: TracerProvider, ids: TraceIds) -> None:
        self._provider, self._ids = provider, ids
        self._tracer: Tracer = provider.get_tracer("incremental_assets")
        # By the run as well: one that finds its table busy ends while another's sync of it goes on.
        self._syncs: dict[tuple[TableId, str], Open] = {}
        self._checks: dict[tuple[TableId, Check], Span] = {}
        self._lock = threading.Lock()

    def notify(self, occurrence: Occurrence) -> None:
        """Begin, continue or end the spans that this is about."""
        now = time.time_ns()
        with self._lock:
            self._noted(occurrence, now)

    def close(self) -> None:
        """Send what waits; what has not ended never does."""
        self._provider.shutdown()

    @singledispatchmethod
    def _noted(self, _occurrence: object, _now: int) -> None:
        """Nothing, of a kind that no span shows."""

    @_noted.register
    def _(self, lease: LeaseTaken, now: int) -> None:
        begun = _before(now, lease.seconds)
        sync = self._begun(lease.table, lease.run_id, begun)
        self._past(Begin("lease", begun, {}, inside=sync.inside), now)

    @_noted.register
    def _(self, begun: PhaseBegun, now: int) -> None:
        sync = self._begun(begun.table, begun.run_id, now)
        sync.leave(now)
        if begun.phase != "landed":
            sync.child = self._tracer.start_span(begun.phase, sync.inside, start_time=now)

    @_noted.register
    def _(self, begun: CheckBegun, now: int) -> None:
        check = Begin(f"check {begun.check} {begun.table}", now, {_TABLE: str(begun.table)})
        self._checks[begun.table, begun.check] = self._span(check)

    @_noted.register
    def _(self, commit: Committed, now: int) -> None:
        if sync := self._syncs.get((commit.table, commit.run_id)):
            by = "spark" if commit.by_spark else "tasks"
            found = _attributes(seq=commit.seq, version=commit.version, by=by, why=commit.by_spark)
            sync.span.add_event("commit", found, now)

    @_noted.register
    def _(self, retried: Retried, now: int) -> None:
        if sync := self._syncs.get((retried.table, retried.run_id)):
            sync.leave(now)
            sync.span.add_event("retry", {"error.type": type(retried.error).__name__}, now)

    @_noted.register
    def _(self, ended: CompactionEnded, now: int) -> None:
        if isinstance(done := ended.done, Compacted):
            begun = Begin(f"compact {done.table}", _before(now, done.seconds), {_TABLE: str(done.table)})
            self._past(begun, now)

    @_noted.register
    def _(self, ended: PruningEnded, now: int) -> None:
        if isinstance(done := ended.done, Pruned):
            begun = Begin(f"prune {done.table}", _before(now, done.seconds), {_TABLE: str(done.table)})
            self._past(begun, now)

    @_noted.register
    def _(self, look: SourceObserved, now: int) -> None:
        sync = self._syncs.get((look.tables[0], look.run_id)) if len(look.tables) == 1 else None
        failed = {"error.type": type(look.error).__name__} if look.error else {}
        attributes = _attributes(tables=len(look.tables)) | failed
        inside = sync.inside if sync else None
        self._past(Begin("look", _before(now, look.seconds), attributes, look.run_id, inside), now)

    def _begun(self, table: TableId, run_id: str, start: int) -> Open:
        if (table, run_id) not in self._syncs:
            named = {_TABLE: str(table), _RUN: run_id}
            self._syncs[table, run_id] = Open(self._span(Begin(f"sync {table}", start, named, run_id)))
        return self._syncs[table, run_id]

    @_noted.register
    def _(self, ended: SyncEnded, now: int) -> None:
        report = ended.report
        if report.status is Ended.IDLE and (report.table, report.run_id) not in self._syncs:
            return  # a table that was seen to stand still, among all others, by one look
        sync = self._begun(report.table, report.run_id, _before(now, report.seconds))
        del self._syncs[report.table, report.run_id]
        sync.leave(now)
        sync.span.set_attributes(_of_report(report))
        if report.status is Ended.FAILED:
            sync.span.set_status(Status(StatusCode.ERROR))
        sync.span.end(now)

    @_noted.register
    def _(self, ended: CheckEnded, now: int) -> None:
        verdict = ended.verdict
        span = self._checks.pop((verdict.table, verdict.check), None)
        if span is not None:
            span.set_attributes(_attributes(passed=verdict.passed))
            span.end(now)

    def _past(self, begin: Begin, end: int) -> None:
        """A span of what is over."""
        span = self._span(begin)
        if "error.type" in begin.attributes:
            span.set_status(Status(StatusCode.ERROR))
        span.end(end)

    def _span(self, begin: Begin) -> Span:
        self._ids.of_run(begin.run_id)
        return self._tracer.start_span(
            begin.name, begin.inside or Context(), start_time=begin.at, attributes=begin.attributes
        )


def _before(now: int, seconds: float) -> int:
    return now - int(seconds * 1e9)


def _attributes(**values: AttributeValue) -> dict[str, AttributeValue]:
    return {f"incremental_assets.{name}": value for name, value in values.items() if value != ""}


def _of_report(report: SyncReport) -> dict[str, AttributeValue]:
    rows = report.rows
    counts = {
        f"rows.{name}": getattr(rows, name)
        for name in ("read", "inserted", "updated", "deleted", "late", "quarantined")
    }
    guarantee = str(report.guarantee) if report.guarantee else ""
    found = _attributes(
        run_id=report.run_id,
        strategy=str(report.strategy),
        mode=str(report.mode),
        status=str(report.status),
        guarantee=guarantee,
        by_spark=report.by_spark,
        **counts,
    )
    return found | ({"incremental_assets.lag": report.lag} if report.lag is not None else {})
