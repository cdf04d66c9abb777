"""What happens while tables are synced, checked and maintained, as one type per kind: all that an exporter of metrics or traces needs."""

from __future__ import annotations

from dataclasses import dataclass

from incremental_assets.core.model.compaction import Compacted, NotCompacted
from incremental_assets.core.model.retention import NotPruned, Pruned
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.model.verdict import Check, Verdict
from incremental_assets.core.planning.report import SyncReport
from incremental_assets.core.words import age


@dataclass(frozen=True, slots=True)
class SourceObserved:
    """A look at the source, for so many seconds; `error` where it did not answer. Without a run's id it was the sensor's."""

    tables: tuple[TableId, ...]
    run_id: str
    seconds: float
    error: Exception | None = None


@dataclass(frozen=True, slots=True)
class LeaseTaken:
    """A run may write a table now, for which it has waited so many seconds. One that is held by another ends in a report."""

    table: TableId
    run_id: str
    seconds: float


@dataclass(frozen=True, slots=True)
class PhaseBegun:
    """A table enters a phase of its sync (plan, read, apply, history, landed), so that the phase before has ended."""

    table: TableId
    run_id: str
    phase: str


@dataclass(frozen=True, slots=True)
class LoadWentOn:
    """Of a first load that goes range by range, so many rows are there of about so many. `left`: the seconds until its end at the pace of this run; None where the estimate has been passed."""

    table: TableId
    run_id: str
    rows: int
    of: int
    left: float | None

    @property
    def said(self) -> str:
        """In words."""
        there = f"its first load has read {self.rows:,}"
        if self.left is None:
            return f"{there} rows"
        return f"{there} of about {self.of:,} rows, about {age(self.left)} to go"


@dataclass(frozen=True, slots=True)
class Committed:
    """Rows and position are in the lake, as this version. `by_spark`: why Spark's own writer did it, empty where tasks did."""

    spec: TableSpec
    run_id: str
    seq: int
    version: int
    by_spark: str

    @property
    def table(self) -> TableId:
        """Whose rows they are."""
        return self.spec.id


@dataclass(frozen=True, slots=True)
class SyncEnded:
    """A sync has ended, well or not."""

    report: SyncReport


@dataclass(frozen=True, slots=True)
class CheckBegun:
    """A check of a table begins; of one that asks the source about all tables at once, nothing is said."""

    table: TableId
    check: Check


@dataclass(frozen=True, slots=True)
class CheckEnded:
    """A check has its answer."""

    verdict: Verdict


@dataclass(frozen=True, slots=True)
class CompactionEnded:
    """The files of a copy were compacted, or could not be."""

    done: Compacted | NotCompacted


@dataclass(frozen=True, slots=True)
class PruningEnded:
    """What a table kept longer than it has to was removed, or could not be."""

    done: Pruned | NotPruned


@dataclass(frozen=True, slots=True)
class Retried:
    """Work on a table starts again because of this error. Without a run's id it was a check's."""

    table: TableId
    error: Exception
    run_id: str = ""


Occurrence = (
    SourceObserved
    | LeaseTaken
    | PhaseBegun
    | LoadWentOn
    | Committed
    | SyncEnded
    | CheckBegun
    | CheckEnded
    | CompactionEnded
    | PruningEnded
    | Retried
)
