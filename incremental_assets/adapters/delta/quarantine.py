"""Rows that could not land, kept beside their table as the source's own text, with the reason."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as sf

from incremental_assets.adapters.delta.commit import Write, write
from incremental_assets.adapters.delta.commit_metadata import QUARANTINE_SUFFIX, CommitMetadata, Kind
from incremental_assets.adapters.delta.log.transaction_log import TableLog, open_log
from incremental_assets.adapters.delta.target_table import opened, prepare
from incremental_assets.adapters.spark.expressions import column
from incremental_assets.adapters.spark.own_names import (
    AT,
    BATCH,
    RAW,
    REJECT_COLUMN,
    REJECT_REASON,
    RUN_ID,
    SEQ,
    TARGET,
    own,
)
from incremental_assets.adapters.spark.staged import read_staged
from incremental_assets.core.errors import CommitMissing
from incremental_assets.core.model.batch import Batch
from incremental_assets.core.model.paths import quarantine_path
from incremental_assets.core.model.table import Column as SourceColumn
from incremental_assets.core.model.table import Fidelity, TableSpec
from incremental_assets.core.planning.plan import CommitIds, SyncPlan

_TEXTS = own("texts")
_CONTENT = own("content")
_COPY = own("copy")
_KEPT = own("kept")


def keep(session: SparkSession, lake: str, plan: SyncPlan, batch: Batch, staged: str) -> None:
    """Add the batch's rejected rows, but for those that are there already, value by value and as often: what is read again is not added again."""
    spec, commit_ids = plan.spec, plan.commit_ids
    path, columns = quarantine_path(lake, spec.id), _as_texts(spec)
    app_id, seq = _names(open_log(path), commit_ids)
    log = opened(session, path, spec, columns=columns, app_id=app_id)
    prepare(session, path, log, columns)
    there = {found.name.lower(): found.name for found in log.columns()}
    rows = _rejected(session, staged, spec, there)
    fresh = _fresh(rows, session.read.format("delta").load(path))
    note = CommitMetadata(
        Kind.QUARANTINE, app_id, seq, commit_ids.batch_id, plan.request.run_id, log.version, rows=batch.rejected
    )
    marked = fresh.select(
        *(column(name) for name in rows.columns),
        sf.lit(plan.request.run_id).alias(RUN_ID),
        sf.lit(commit_ids.seq).cast("bigint").alias(SEQ),
        sf.lit(datetime.now(UTC).isoformat()).cast("timestamp").alias(AT),
    )
    evolves = any(name.lower() not in there for name in rows.columns)
    write(marked, Write(path, note, evolves=evolves))
    after = opened(session, path, spec, columns=columns, app_id=app_id)
    if not any(commit.note and commit.note.batch_id == commit_ids.batch_id for commit in after.commits(log.version)):
        raise CommitMissing(
            f"{spec.id}: the rows that cannot land could not be written to quarantine, so nothing of this batch was written; run the sync again"
        )


def _names(log: TableLog | None, commit_ids: CommitIds) -> tuple[str, int]:
    """App id and sequence of the commit. The rows that an earlier table of the same name left stay, and new ones are added."""
    ours = f"{commit_ids.app_id}{QUARANTINE_SUFFIX}"
    if log is None or log.app_id == ours or not log.app_id.endswith(QUARANTINE_SUFFIX):
        return ours, commit_ids.seq
    return log.app_id, max(commit_ids.seq, 1 + log.last_sequence(log.app_id))


def _rejected(session: SparkSession, staged: str, spec: TableSpec, there: dict[str, str]) -> DataFrame:
    """The source's values as the texts that the source gave, under the spelling that the quarantine has."""
    bad = read_staged(session, staged, spec).where(column(REJECT_REASON).isNotNull())
    texts = bad.select(
        sf.from_json(column(RAW), "map<string,string>").alias(_TEXTS), column(REJECT_REASON), column(REJECT_COLUMN)
    )
    values = [
        sf.try_element_at(sf.col(_TEXTS), sf.lit(name)).alias(there.get(name.lower(), name))
        for name in spec.shape.names
    ]
    return texts.select(*values, column(REJECT_REASON), column(REJECT_COLUMN))


def _fresh(rows: DataFrame, target: DataFrame) -> DataFrame:
    """The rows that the target does not hold, each as often as it holds too few of it: two rows of one key, or of none, are two."""
    alone = Window.partitionBy(_CONTENT).orderBy(sf.lit(0))
    batch = rows.withColumn(_CONTENT, _content(rows.columns, rows)).withColumn(_COPY, sf.row_number().over(alone))
    kept = target.groupBy(_content(rows.columns, target).alias(_CONTENT)).agg(sf.count("*").alias(_KEPT))
    held = (column(_CONTENT, BATCH) == column(_CONTENT, TARGET)) & (column(_COPY, BATCH) <= column(_KEPT, TARGET))
    return batch.alias(BATCH).join(kept.alias(TARGET), on=held, how="left_anti")


def _content(names: Sequence[str], frame: DataFrame) -> Column:
    """One text of all these values, which are texts themselves; a column that the frame does not have yet is NULL in every row of it."""
    there = {name.lower() for name in frame.columns}
    values = (column(name) if name.lower() in there else sf.lit(None).cast("string") for name in names)
    return sf.sha2(sf.to_json(sf.array(*values)), 256)


def _as_texts(spec: TableSpec) -> tuple[SourceColumn, ...]:
    flags = (REJECT_REASON, REJECT_COLUMN)
    texts = [SourceColumn(found.name, found.source_type, "string", Fidelity.TEXT) for found in spec.columns]
    return (*texts, *(SourceColumn(name, "text", "string", Fidelity.TEXT) for name in flags))
