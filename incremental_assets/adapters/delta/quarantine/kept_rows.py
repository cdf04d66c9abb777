"""Rows that could not land, kept beside their table as the source's own text, with the reason."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from pyspark.sql import Column, DataFrame, Observation, SparkSession, Window
from pyspark.sql import functions as sf

from incremental_assets.adapters.delta import plane
from incremental_assets.adapters.delta.commit import Write, write
from incremental_assets.adapters.delta.commit_metadata import QUARANTINE_SUFFIX, CommitMetadata, Kind
from incremental_assets.adapters.delta.live import live
from incremental_assets.adapters.delta.log.transaction_log import TableLog, open_log
from incremental_assets.adapters.delta.quarantine import by_tasks
from incremental_assets.adapters.delta.site import Site
from incremental_assets.adapters.delta.staging.staging import as_text
from incremental_assets.adapters.delta.target_table import add_columns, opened, prepare
from incremental_assets.adapters.spark.expressions import all_of, column
from incremental_assets.adapters.spark.own_names import (
    AT,
    BATCH,
    CONTENT,
    HELD,
    LATE,
    OPERATION,
    RAW,
    REJECT_COLUMN,
    REJECT_REASON,
    RESOLUTION,
    RESOLVED_AT,
    RUN_ID,
    SEQ,
    STALE,
    TARGET,
    key_part,
    own,
)
from incremental_assets.adapters.spark.staged import read_staged
from incremental_assets.core.errors import CommitMissing
from incremental_assets.core.model.batch import Batch, Operation
from incremental_assets.core.model.column import Column as SourceColumn
from incremental_assets.core.model.column import Fidelity
from incremental_assets.core.model.paths import quarantine_path, table_path
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.planning.plan import CommitIds, SyncPlan

RESOLVED = ((RESOLVED_AT, "timestamp"), (RESOLUTION, "string"))
"""The columns that say of a row since when it waits for nothing more, and why; a quarantine of an earlier release may lack them."""
MARKS = ((HELD, "boolean"), (STALE, "boolean"), (CONTENT, "string"), *RESOLVED)
"""The columns that the quarantine of a table with a contract has besides."""
_TEXTS = own("texts")
_COPY = own("copy")
_KEPT = own("kept")


def keep(site: Site, plan: SyncPlan, batch: Batch, staged: str) -> int:
    """Add the batch's rejected rows, but for those that are there already, value by value and as often: what is read again is not added again. How many of them a sync before should have seen."""
    spec, commit_ids = plan.spec, plan.commit_ids
    path, columns = quarantine_path(site.lake, spec.id), _as_texts(spec)
    app_id, seq = _names(open_log(path), commit_ids)
    log = opened(site.session, path, spec, columns=columns, app_id=app_id)
    note = CommitMetadata(
        Kind.QUARANTINE, app_id, seq, commit_ids.batch_id, plan.request.run_id, log.version, rows=batch.rejected
    )
    if not plane.spark_commits(path):
        log = _with_columns(site.session, path, log, columns)
        note = replace(note, seen=log.version)
    late = plane.commit(
        path,
        f"{spec.id}: rows that cannot land go to quarantine",
        lambda: by_tasks.keep(site, plan, staged, note),
        lambda: _by_spark(site, plan, staged, log, note),
    ).result
    after = opened(site.session, path, spec, columns=columns, app_id=app_id)
    if not any(commit.note and commit.note.batch_id == commit_ids.batch_id for commit in after.commits(log.version)):
        raise CommitMissing(
            f"{spec.id}: the rows that cannot land could not be written to quarantine, so nothing of this batch was written; run the sync again"
        )
    return late


def _with_columns(session: SparkSession, path: str, log: TableLog, columns: Sequence[SourceColumn]) -> TableLog:
    """The quarantine with all that its rows are given, as no commit of Spark's may bring it."""
    there = {found.name.lower() for found in log.columns()}
    lacking = [(each.name, each.spark_type) for each in columns if each.name.lower() not in there]
    if lacking:
        add_columns(session, path, lacking)
    return (open_log(path) or log) if lacking else log


def _by_spark(site: Site, plan: SyncPlan, staged: str, log: TableLog, note: CommitMetadata) -> int:
    spec, session = plan.spec, site.session
    path = quarantine_path(site.lake, spec.id)
    prepare(session, path, log, _as_texts(spec))
    there = {found.name.lower(): found.name for found in log.columns()}
    rows = rejected(session, staged, spec, there)
    fresh = _fresh(rows, session.read.format("delta").load(path))
    marked = fresh.select(
        *(column(name) for name in rows.columns),
        sf.lit(plan.request.run_id).alias(RUN_ID),
        sf.lit(plan.commit_ids.seq).cast("bigint").alias(SEQ),
        sf.lit(datetime.now(UTC).isoformat()).cast("timestamp").alias(AT),
    )
    if spec.contract is not None:
        marked = _with_marks(session, site.lake, plan, marked)
    evolves = any(name.lower() not in there for name in marked.columns if name != LATE)
    # What the copy shows came in time, and is held since a contract was altered.
    new = ~sf.coalesce(column(STALE), sf.lit(False)) if STALE in marked.columns else sf.lit(True)  # noqa: FBT003
    observed = Observation()
    told = marked.observe(observed, sf.count_if(column(LATE) & new).alias(LATE))
    write(told.drop(LATE), Write(path, note, evolves=evolves))
    return int(observed.get[LATE])


def _with_marks(session: SparkSession, lake: str, plan: SyncPlan, rows: DataFrame) -> DataFrame:
    """Adds CONTENT and STALE to rows that are held, and to every row that nothing has resolved it. STALE: the copy shows a row of the same key."""
    spec, path = plan.spec, table_path(lake, plan.spec.id)
    log = open_log(path)
    texts = [name for name in rows.columns if name not in (HELD, LATE, RUN_ID, SEQ, AT)]
    rows = rows.withColumn(CONTENT, sf.when(column(HELD), content(texts, rows)))
    unresolved = {name: sf.lit(None).cast(kind) for name, kind in MARKS if name in (RESOLVED_AT, RESOLUTION)}
    if log is None or not spec.key or plan.overwrites:
        return rows.withColumns({STALE: sf.when(column(HELD), sf.lit(False)), **unresolved})  # noqa: FBT003
    by_name = {found.name: found for found in spec.columns}
    there = live(session.read.format("delta").load(path), log.columns())
    keys = [as_text(by_name[name]).alias(key_part(place)) for place, name in enumerate(spec.key)]
    there = there.select(*keys).distinct().withColumn(_KEPT, sf.lit(True))  # noqa: FBT003
    spelt = {name.lower(): name for name in rows.columns}
    same = [
        column(spelt[name.lower()], BATCH) == column(key_part(place), TARGET) for place, name in enumerate(spec.key)
    ]
    found = rows.alias(BATCH).join(there.alias(TARGET), on=all_of(same), how="left")
    marked = found.select(
        *(column(name, BATCH) for name in rows.columns), column(_KEPT, TARGET).isNotNull().alias(STALE)
    )
    return marked.withColumns({STALE: sf.when(column(HELD), column(STALE)), **unresolved})


def _names(log: TableLog | None, commit_ids: CommitIds) -> tuple[str, int]:
    """App id and sequence of the commit. The rows that an earlier table of the same name left stay, and new ones are added."""
    ours = f"{commit_ids.app_id}{QUARANTINE_SUFFIX}"
    if log is None or log.app_id == ours or not log.app_id.endswith(QUARANTINE_SUFFIX):
        return ours, commit_ids.seq
    return log.app_id, max(commit_ids.seq, 1 + log.last_sequence(log.app_id))


def rejected(session: SparkSession, staged: str, spec: TableSpec, there: dict[str, str]) -> DataFrame:
    """The source's values as the texts that the source gave, under the spelling that the quarantine has."""
    bad = read_staged(session, staged, spec).where(column(REJECT_REASON).isNotNull())
    texts = bad.withColumn(_TEXTS, sf.from_json(column(RAW), "map<string,string>"))
    held = column(OPERATION) == Operation.HELD.value
    # A row that is held has its values, and no text of the source.
    values = [
        sf.when(held, as_text(found))
        .otherwise(sf.try_element_at(sf.col(_TEXTS), sf.lit(found.name)))
        .alias(there.get(found.name.lower(), found.name))
        for found in spec.columns
    ]
    # NULL where it is not, as in the rows of an earlier release.
    marks = [sf.when(held, held).alias(HELD)] if spec.contract is not None or HELD in there else []
    return texts.select(*values, column(REJECT_REASON), column(REJECT_COLUMN), column(LATE), *marks)


def _fresh(rows: DataFrame, target: DataFrame) -> DataFrame:
    """The rows that the target does not hold, each as often as it holds too few of it: two rows of one key, or of none, are two."""
    alone = Window.partitionBy(CONTENT).orderBy(sf.lit(0))
    texts = [name for name in rows.columns if name not in (HELD, LATE)]
    batch = rows.withColumn(CONTENT, content(texts, rows)).withColumn(_COPY, sf.row_number().over(alone))
    if RESOLVED_AT in target.columns:
        target = target.where(column(RESOLVED_AT).isNull())
    kept = target.groupBy(content(texts, target).alias(CONTENT)).agg(sf.count("*").alias(_KEPT))
    held = (column(CONTENT, BATCH) == column(CONTENT, TARGET)) & (column(_COPY, BATCH) <= column(_KEPT, TARGET))
    return batch.alias(BATCH).join(kept.alias(TARGET), on=held, how="left_anti")


def content(names: Sequence[str], frame: DataFrame) -> Column:
    """One text of all these values, which are texts themselves; a column that the frame does not have yet is NULL in every row of it."""
    there = {name.lower() for name in frame.columns}
    values = (column(name) if name.lower() in there else sf.lit(None).cast("string") for name in names)
    return sf.sha2(sf.to_json(sf.array(*values)), 256)


def _as_texts(spec: TableSpec) -> tuple[SourceColumn, ...]:
    flags = (REJECT_REASON, REJECT_COLUMN)
    texts = [SourceColumn(found.name, found.source_type, "string", Fidelity.TEXT) for found in spec.columns]
    marks = [SourceColumn(name, kind, kind, Fidelity.EXACT) for name, kind in (MARKS if spec.contract else RESOLVED)]
    return (*texts, *(SourceColumn(name, "text", "string", Fidelity.TEXT) for name in flags), *marks)
