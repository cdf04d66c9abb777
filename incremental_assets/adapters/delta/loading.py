"""A first load: rows go from the source straight into the target, and are counted there before they get their position."""

from __future__ import annotations

from pyspark.sql import Observation, SparkSession

from incremental_assets.adapters.delta.commit import Write, shaped, write
from incremental_assets.adapters.delta.commit_metadata import CommitMetadata
from incremental_assets.adapters.delta.confirmed import confirmed
from incremental_assets.adapters.delta.counts import rows_written
from incremental_assets.adapters.delta.dedup import Present
from incremental_assets.adapters.delta.stage import warnings
from incremental_assets.adapters.delta.staging import check_types, count_future
from incremental_assets.adapters.delta.target_table import prepare, without_lost
from incremental_assets.adapters.delta.transaction_log import TableLog
from incremental_assets.adapters.spark.own_names import own
from incremental_assets.core.errors import StageBroken
from incremental_assets.core.model.batch import Batch
from incremental_assets.core.model.schema_drift import check_columns, difference
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.planning.plan import SyncPlan
from incremental_assets.core.ports import Snapshot

FILE_BYTES = 256 * 2**20
"""Of the source's, per file: less of it in Parquet, small enough that an upsert of neighbours leaves most files alone."""


def load(session: SparkSession, plan: SyncPlan, snapshot: Snapshot, log: TableLog, path: str) -> tuple[Batch, int]:
    """Replace all that is in the target by the snapshot's rows; gives the batch and the version that holds it. Raises StageBroken."""
    spec, frame = plan.spec, snapshot.frame
    there = log.columns()
    changes = difference(spec.columns, there)
    check_columns(spec, changes, overwrites=True)
    prepare(session, path, log, spec.columns, without_lost(spec, log, changes))
    check_types(spec, frame)
    counted = Observation()
    rows = shaped(
        plan, frame.observe(counted, count_future(plan).alias(own("future"))), Present(path, there, None), changes
    )
    note = CommitMetadata.of_load(plan, snapshot.rows, seen=log.version)
    write(rows, Write(path, note, overwrites=True, evolves=bool(changes), rows_per_file=rows_per_file(spec)))
    _, done = confirmed(spec, path, log.version, plan.commit_ids.batch_id)
    written = rows_written(done)
    if written != snapshot.rows:
        raise StageBroken(
            f"{spec.id}: {written} rows were written where the source counts {snapshot.rows} in the same snapshot; "
            "they got no position, so that the next sync replaces them; run it again, and report it if it stays"
        )
    sentences = warnings(plan, counted.get[own("future")])
    return Batch(plan.commit_ids.batch_id, written, digest="", warnings=sentences, in_target=True), done.version


def rows_per_file(spec: TableSpec) -> int | None:
    """None where the source has not counted its rows yet."""
    return max(1, spec.shape.rows * FILE_BYTES // spec.shape.bytes) if spec.shape.rows > 0 else None
