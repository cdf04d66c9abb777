"""What one sync did: the numbers that people, the checkpoint table and Dagster show."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Self

from incremental_assets.core.errors import Busy, Paused, Refused, sentence_of
from incremental_assets.core.model.cursor import CursorValue
from incremental_assets.core.model.guarantee import Guarantee, stated
from incremental_assets.core.model.history import HistoryRows
from incremental_assets.core.model.schema_change import SchemaChange
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.model.verified import Verified
from incremental_assets.core.model.window import Window
from incremental_assets.core.planning.plan import Mode, NothingToDo, Request, SyncPlan
from incremental_assets.core.strategies import Strategy


class Status(StrEnum):
    """How a sync of one table ended."""

    LANDED = "landed"
    IDLE = "idle"
    FAILED = "failed"
    REFUSED = "refused"
    """Destructive, and not confirmed: it waits for a person."""
    BUSY = "busy"
    PAUSED = "paused"
    """By a person, so that it was left alone."""

    @classmethod
    def of(cls, error: BaseException) -> Status:
        """The status of a sync that failed with this error."""
        if isinstance(error, Paused):
            return cls.PAUSED
        return cls.BUSY if isinstance(error, Busy) else cls.REFUSED if isinstance(error, Refused) else cls.FAILED


FAILING = (Status.FAILED, Status.REFUSED)
"""Of a table whose last sync ended so, nothing lands until somebody, or a next run, has done something about it."""


@dataclass(frozen=True, slots=True)
class RowCounts:
    """Rows of one sync. `read` is the source's own count of the snapshot; `late` counts those of inserted and updated, and those new in quarantine, that committed late."""

    read: int = 0
    inserted: int = 0
    updated: int = 0
    deleted: int = 0
    unchanged: int = 0
    late: int = 0
    quarantined: int = 0

    def __add__(self, other: RowCounts) -> RowCounts:
        return RowCounts(*(getattr(self, each.name) + getattr(other, each.name) for each in fields(self)))


@dataclass(frozen=True, slots=True)
class SyncReport:
    """One sync of one table, from request to landed. `seconds` is the total, `phases` its parts in order."""

    table: TableId
    run_id: str
    strategy: Strategy
    mode: Mode
    status: Status
    guarantee: Guarantee | None = None
    guarantee_reason: str = ""
    within: timedelta | None = None
    """How long stamps may lag, of what is settled within that."""
    window: Window | None = None
    settled: CursorValue | None = None
    previous_watermark: CursorValue | None = None
    new_watermark: CursorValue | None = None
    seq: int | None = None
    rows: RowCounts = field(default_factory=RowCounts)
    target_version: int | None = None
    history: HistoryRows | None = None
    """What it did to the history beside the copy; None where there is none, or nothing to follow."""
    by_spark: str = ""
    """Why Spark's own reader or writer did the work, which takes longer; empty where tasks did."""
    schema_changes: tuple[SchemaChange, ...] = ()
    """What it changed of the copy's columns."""
    unfilled: tuple[str, ...] = ()
    """Columns whose values rows that landed before still lack."""
    unfinished: str = ""
    """How far a first load has come that the next sync goes on with; empty for any other."""
    lag: float | None = None
    """Seconds from the new watermark to the source's clock at the bound; None for integers and for tables without a cursor."""
    clock: datetime | None = None
    """The source's clock when the bound was taken."""
    seconds: float = 0.0
    phases: tuple[tuple[str, float], ...] = ()
    warnings: tuple[str, ...] = ()
    reason: str = ""
    """Why nothing was read, for an idle table."""
    next_look: datetime | None = None
    """When the table is looked at next, where nobody looked at it now."""
    deletes_due: datetime | None = None
    """When deletes are looked for next, where nobody looked for them now."""
    error: str | None = None

    @property
    def promise(self) -> str:
        """Its guarantee for people; empty where it states none."""
        return stated(self.guarantee, self.within)

    @property
    def forgets(self) -> Window | None:
        """The window of which no drift is known any more once this has landed; a repair looks at its own again, new columns are not the whole of a row."""
        return None if self.mode in (Mode.REPAIR, Mode.FILL) else self.window

    def leaves(self, known: Verified) -> Verified:
        """What is verified of a copy once this has landed; of rows that a rollback brought back, nothing is."""
        if self.mode is Mode.ROLLBACK:
            return Verified(None)
        return known if self.forgets is None else known.read_again(self.forgets)

    @classmethod
    def of(cls, spec: TableSpec, request: Request, status: Status) -> Self:
        """A report with the request and the status alone."""
        return cls(spec.id, request.run_id, spec.strategy, request.mode, status)

    @classmethod
    def landed(
        cls,
        plan: SyncPlan,
        watermark: CursorValue | None,
        rows: RowCounts,
        version: int | None,
        warnings: tuple[str, ...],
    ) -> Self:
        """The report of an executed plan; `warnings` are those in addition to the plan's own."""
        reading, promise = plan.reading, plan.reading.promise
        return replace(
            cls.of(plan.spec, plan.request, Status.LANDED),
            guarantee=promise.guarantee,
            guarantee_reason=promise.reason,
            within=promise.within,
            window=reading.window,
            settled=reading.settled_at,
            previous_watermark=plan.previous_watermark,
            new_watermark=watermark,
            seq=plan.commit_ids.seq,
            rows=rows,
            target_version=version,
            lag=reading.lag,
            clock=reading.clock,
            warnings=(*plan.warnings, *warnings),
            deletes_due=reading.deletes_due,
        )

    @classmethod
    def idle(cls, spec: TableSpec, request: Request, nothing: NothingToDo) -> Self:
        """The report of a sync that found nothing to read."""
        return replace(
            cls.of(spec, request, Status.IDLE),
            guarantee=nothing.guarantee,
            guarantee_reason=nothing.guarantee_reason,
            within=nothing.within,
            settled=nothing.settled,
            previous_watermark=nothing.previous_watermark,
            new_watermark=nothing.state.position.watermark if nothing.state else nothing.previous_watermark,
            warnings=nothing.warnings,
            reason=nothing.reason,
            next_look=nothing.next_look,
            deletes_due=nothing.deletes_due,
        )

    @classmethod
    def failed(cls, spec: TableSpec, request: Request, error: BaseException, seconds: float = 0.0) -> Self:
        """The report of a sync that failed, was refused or found its table busy, with the sentence of the error."""
        return replace(cls.of(spec, request, Status.of(error)), seconds=seconds, error=sentence_of(spec.id, error))

    def lowered(self, reason: str) -> Self:
        """The same, by which a promise of an earlier run turned out not to hold."""
        return replace(
            self,
            guarantee=Guarantee.BEST_EFFORT,
            guarantee_reason=reason,
            within=None,
            warnings=(*self.warnings, reason),
        )

    def since(self, earlier: Self) -> Self:
        """This and what an earlier sync has landed, as one: rows and seconds added up, all warnings, and the weaker promise. What found nothing adds nothing."""
        history = (
            earlier.history + self.history if earlier.history and self.history else self.history or earlier.history
        )
        if self.status is Status.IDLE:
            return replace(earlier.instead_of(self), history=history)
        weaker = max(earlier, self, key=_weakness)
        phases = dict(earlier.phases)
        phases |= {name: phases.get(name, 0.0) + seconds for name, seconds in self.phases}
        return replace(
            self,
            guarantee=weaker.guarantee,
            guarantee_reason=weaker.guarantee_reason,
            within=weaker.within,
            window=Window(earlier.window.lower, self.window.upper) if earlier.window and self.window else self.window,
            previous_watermark=earlier.previous_watermark,
            rows=earlier.rows + self.rows,
            history=history,
            by_spark=self.by_spark or earlier.by_spark,
            schema_changes=(*earlier.schema_changes, *self.schema_changes),
            seconds=earlier.seconds + self.seconds,
            phases=tuple(phases.items()),
            warnings=tuple(dict.fromkeys((*earlier.warnings, *self.warnings))),
        )

    def instead_of(self, idle: Self) -> Self:
        """What a dead run had committed, reported by the run that found it and had nothing else to do."""
        return replace(
            self,
            guarantee=idle.guarantee,
            guarantee_reason=idle.guarantee_reason,
            within=idle.within,
            settled=idle.settled,
            new_watermark=idle.new_watermark,
            seconds=idle.seconds,
            phases=idle.phases,
            warnings=idle.warnings,
        )


def _weakness(report: SyncReport) -> int:
    return -1 if report.guarantee is None else list(Guarantee).index(report.guarantee)
