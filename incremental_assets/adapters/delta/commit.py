"""The one commit of a batch: what is written, with which options, and what its metrics say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as sf

from incremental_assets.adapters.delta.commit_metadata import CommitMetadata
from incremental_assets.adapters.delta.dedup import Present
from incremental_assets.adapters.delta.live import marks_deletes
from incremental_assets.adapters.delta.log.column_mapping import SINCE_CURSOR
from incremental_assets.adapters.delta.log.transaction_log import SINCE
from incremental_assets.adapters.spark.expressions import column, quoted
from incremental_assets.adapters.spark.own_names import AT, BATCH, DELETED_AT, LATE, RUN_ID, SEQ, TARGET, own
from incremental_assets.core.errors import Overtaken
from incremental_assets.core.model.batch import KeyRange
from incremental_assets.core.model.schema_drift import Difference
from incremental_assets.core.planning.plan import SyncPlan

_LATE, _ROWS = own("late"), own("rows")
_CONFLICTING = ("Concurrent", "ProtocolChanged", "MetadataChanged")
_CONFLICTS = ("DELTA_CONCURRENT", "DELTA_PROTOCOL_CHANGED", "DELTA_METADATA_CHANGED")
"""Words in the names of Delta's exceptions, and the beginnings of their conditions, where another writer was first."""


@dataclass(frozen=True, slots=True)
class Write:
    """One write to one Delta table.

    `replacing`: the keys whose rows it deletes in the same commit; `within`: where all of them lie; `overwrites`: whether it deletes all;
    `evolves`: whether it brings columns; `rows_per_file`: at most so many, for a write whose tasks are few and long.
    """

    path: str
    note: CommitMetadata
    replacing: Sequence[str] = ()
    within: Sequence[KeyRange] = ()
    overwrites: bool = False
    evolves: bool = False
    rows_per_file: int | None = None
    transaction: tuple[str, int] | None = None
    """App id and version under which Delta takes it once, where those are not the note's."""


@dataclass(frozen=True, slots=True)
class Written:
    """Counted while the rows were written; ask only after the log has confirmed the commit, as nothing is counted for one that Delta skipped."""

    observation: Observation

    @property
    def late(self) -> int:
        """Rows written that a sync before should have seen."""
        return int(self.observation.get[_LATE])

    @property
    def rows(self) -> int:
        """Rows of the batch that were written."""
        return int(self.observation.get[_ROWS])


def counted(rows: DataFrame) -> tuple[DataFrame, Written]:
    """The rows, and what will be known of them once they are written."""
    observation = Observation()
    asked = sf.count_if(column(LATE)).alias(_LATE), sf.count(sf.lit(1)).alias(_ROWS)
    return rows.observe(observation, *asked), Written(observation)


def shaped(plan: SyncPlan, rows: DataFrame, present: Present, found: Difference) -> DataFrame:
    """The target's columns: the source's under the spelling that the target has, those that only the target has, and our own."""
    spelled = {} if plan.overwrites else {there.name.lower(): there.name for there in present.columns}
    added = {each.name for each in found.added}
    columns = [
        column(each.name).alias(
            spelled.get(each.name.lower(), each.name),
            metadata=column_metadata(plan, each.comment, is_added=each.name in added),
        )
        for each in plan.spec.columns
    ]
    kept = [column(there.name) for there in found.dropped if there.name in rows.columns]
    marks = [
        sf.lit(plan.request.run_id).alias(RUN_ID),
        sf.lit(plan.commit_ids.seq).cast("bigint").alias(SEQ),
        sf.lit(datetime.now(UTC).isoformat()).cast("timestamp").alias(AT),
    ]
    if marks_deletes(present.columns):
        marks.append(sf.lit(None).cast("timestamp").alias(DELETED_AT))
    return rows.select(*columns, *kept, *marks)


def empty(session: SparkSession) -> DataFrame:
    """No rows, for a commit that only speaks."""
    # Not from Python's own rows, for which Spark would start Python workers.
    return session.range(0).select(sf.lit(None).cast("string").alias(RUN_ID))


def write(rows: DataFrame, to: Write) -> None:
    """One commit. Raises Overtaken where another writer was first; whether it landed, only the log can tell."""
    writer = rows.alias(BATCH).write.format("delta").mode("overwrite" if to.overwrites or to.replacing else "append")
    app_id, number = to.transaction or (to.note.app_id, to.note.seq)
    options = {"txnAppId": app_id, "txnVersion": str(number), "userMetadata": to.note.to_json()}
    if to.replacing:
        options |= {"replaceOn": matching(to.replacing, to.within), "targetAlias": TARGET}
    if to.evolves:
        options["overwriteSchema" if to.overwrites else "mergeSchema"] = "true"
    if to.overwrites:
        # Whatever is set for the session, by which rows of a partition that has none now would stay.
        options["partitionOverwriteMode"] = "static"
    if to.rows_per_file:
        options["maxRecordsPerFile"] = str(to.rows_per_file)
    with conflicts_explained(to):
        writer.options(**options).save(to.path)


@contextmanager
def conflicts_explained(to: Write) -> Iterator[None]:
    """Raises Overtaken where another writer was first."""
    try:
        yield
    except Exception as error:
        if _is_conflict(error):
            raise Overtaken(
                f"{to.path}: another writer changed this table while sequence {to.note.seq} was being written, so nothing of it landed; run the sync again"
            ) from error
        raise


def matching(replacing: Sequence[str], within: Sequence[KeyRange]) -> str:
    """The condition, as SQL, for the rows of the target that a row of the batch replaces."""
    # The names are quoted here: `replaceUsing` could not name a column with a space in it.
    equal = [f"{TARGET}.{quoted(name)} <=> {BATCH}.{quoted(name)}" for name in replacing]
    # Follows from the equality, but only from numbers can a reader of Parquet tell which row groups to leave out.
    ends = [(quoted(each.column), each) for each in within]
    return " AND ".join(
        [*equal, *(f"{TARGET}.{name} >= {each.lowest} AND {TARGET}.{name} <= {each.highest}" for name, each in ends)]
    )


def column_metadata(plan: SyncPlan, comment: str, *, is_added: bool) -> dict[str, Any]:
    """The metadata of one column: the source's comment where the column is added or the table is overwritten; of an added one since when it is there, too."""
    metadata: dict[str, Any] = {"comment": comment} if comment and (is_added or plan.overwrites) else {}
    if not is_added or plan.overwrites:
        return metadata
    metadata[SINCE] = plan.commit_ids.seq
    read = plan.previous.position.max_cursor_read if plan.previous else None
    return metadata | ({SINCE_CURSOR: f"{plan.spec.terms.cursor}={read.text}"} if read is not None else {})


def _is_conflict(error: Exception) -> bool:
    """Some arrive as Delta's own exceptions, some as bare Java ones, whose class is all that tells; from a server the condition does."""
    name = type(error).__name__ if isinstance(error, PySparkException) else ""
    java = getattr(error, "java_exception", None)
    java_class = java.getClass().getName() if java is not None else ""
    condition = (error.getCondition() or "") if isinstance(error, PySparkException) else ""
    return condition.startswith(_CONFLICTS) or any(word in text for word in _CONFLICTING for text in (name, java_class))
