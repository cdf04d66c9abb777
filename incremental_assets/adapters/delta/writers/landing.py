"""The input of a writer, and its result before the log has confirmed the commit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from pyspark.sql import DataFrame, SparkSession

from incremental_assets.adapters.delta import commit, dedup
from incremental_assets.adapters.delta.beside import Beside
from incremental_assets.adapters.delta.commit_metadata import CommitMetadata
from incremental_assets.adapters.delta.completed import completed
from incremental_assets.adapters.delta.dedup import Present, landable
from incremental_assets.adapters.delta.log.transaction_log import TableLog
from incremental_assets.adapters.delta.writers.choice import Found
from incremental_assets.core.model.batch import Batch
from incremental_assets.core.model.cures import differing_again
from incremental_assets.core.model.schema_drift import Difference
from incremental_assets.core.model.state import State
from incremental_assets.core.planning.plan import SyncPlan


@dataclass(frozen=True, slots=True)
class Delivery:
    """A batch, the plan that it was read by, and the state that it leaves."""

    plan: SyncPlan
    batch: Batch
    state: State


@dataclass(frozen=True, slots=True)
class Landing:
    """One batch on its way into its table, and the table as it meets it. `staged` is the batch's folder."""

    session: SparkSession
    delivery: Delivery
    staged: str
    log: TableLog
    present: Present
    changes: Difference
    found: Found
    beside: Beside
    """What lay beside the table once the batch's own rows were in quarantine."""

    @property
    def plan(self) -> SyncPlan:
        """The plan by which the batch was read."""
        return self.delivery.plan

    @property
    def path(self) -> str:
        """The path of the table."""
        return self.present.path

    def rows(self, session: SparkSession) -> DataFrame:
        """Rows of the batch that can land, one per key where a key may repeat."""
        some = self.plan.of_new_columns if self.delivery.batch.new_columns else None
        if some is not None:
            names = self.delivery.batch.new_columns
            return completed(
                session, landable(session, self.staged, some.spec, repeated=False), self.plan, self.present, names
            )
        return landable(session, self.staged, self.plan.spec, repeated=self.delivery.batch.duplicates > 0)

    def note(self, rows_before: int | None = None) -> CommitMetadata:
        """What the commit says about itself."""
        of = self.delivery
        note = CommitMetadata.of_batch(of.plan, of.batch, of.state, self.log.version, rows_before)
        return self.beside.noted(replace(note, marked=self.found.marked))

    def shaped(self, session: SparkSession, rows: DataFrame) -> DataFrame:
        """Rows that land, in the target's shape, and those of its own that land once more to be marked as gone."""
        shaped = commit.shaped(self.plan, rows, self.present, self.changes)
        if not self.found.marked:
            return shaped
        gone = dedup.marked(session, self.plan, self.staged, self.present)
        return shaped.unionByName(gone, allowMissingColumns=True)

    def warnings(self) -> tuple[str, ...]:
        """A default fills a new column at once and stamps no row, so that no cursor can tell."""
        # Where their values are read for all rows, the run says so once that is done; a comparison has just read them.
        filled = self.plan.spec.fills or self.plan.reading.finds_differing
        names = "" if filled else ", ".join(column.name for column in self.changes.added)
        sentence = (
            f"new columns ({names}) came with this sync; rows that do not change show NULL there, which is wrong if the source gave them "
            f"a value: then {differing_again(self.plan.spec)}"
        )
        return (sentence,) if names else ()


def _nothing() -> int:
    return 0


@dataclass(frozen=True, slots=True)
class Written:
    """One commit that was asked for; whether it landed, only the log can tell. What the write itself counts is asked for after that."""

    note: CommitMetadata
    late: Callable[[], int] = _nothing
    """Rows written that a sync before should have seen."""
    deleted: int = 0
    """Rows of a target that was overwritten."""
    into_nothing: bool = False
    """Whether every row of the batch must have been written."""
    landed: Callable[[], int] | None = None
    """Rows of the batch, where others were written along."""
    warnings: tuple[str, ...] = ()
    by_spark: str = ""
    """Why Spark's writer made it; empty where tasks did."""
