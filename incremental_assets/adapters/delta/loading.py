"""A first load: rows go from the source straight into the target, and are counted there before they get their position."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import Observation

from incremental_assets.adapters.delta import plane
from incremental_assets.adapters.delta.commit import Write, shaped, write
from incremental_assets.adapters.delta.commit_metadata import CommitMetadata
from incremental_assets.adapters.delta.confirmed import confirmed
from incremental_assets.adapters.delta.counts import rows_written
from incremental_assets.adapters.delta.dedup import Present
from incremental_assets.adapters.delta.file_size import rows_per_file
from incremental_assets.adapters.delta.log.transaction_log import TableLog
from incremental_assets.adapters.delta.plane import Made
from incremental_assets.adapters.delta.staging.arrow_staging import refused_to_stage
from incremental_assets.adapters.delta.staging.stage import warnings
from incremental_assets.adapters.delta.staging.staging import check_types, count_future
from incremental_assets.adapters.delta.target_table import prepare, vectors_wanted, without_lost
from incremental_assets.adapters.delta.tasks import load as by_tasks
from incremental_assets.adapters.spark.not_by_tasks import NotByTasks
from incremental_assets.adapters.spark.own_names import own
from incremental_assets.adapters.spark.tasks import Tasks
from incremental_assets.core.errors import StageBroken
from incremental_assets.core.model.batch import Batch
from incremental_assets.core.model.schema_drift import Difference, check_columns, difference
from incremental_assets.core.planning.plan import SyncPlan
from incremental_assets.core.ports import Snapshot


def load(tasks: Tasks, plan: SyncPlan, snapshot: Snapshot, log: TableLog, path: str) -> tuple[Batch, int]:
    """Replace all that is in the target by the snapshot's rows; gives the batch and the version that holds it. Raises StageBroken."""
    spec, there = plan.spec, log.columns()
    changes = difference(spec.columns, there)
    check_columns(spec, changes, overwrites=True)
    more = {**without_lost(spec, log, changes), **vectors_wanted(path, spec, log)}
    prepare(tasks.session(), path, log, spec.columns, more)
    of = by_tasks.Load(
        plan, snapshot, CommitMetadata.of_load(plan, snapshot.rows, seen=log.version), rows_per_file(spec)
    )
    loaded = _written(tasks, of, Present(path, there, None), changes)
    _, done = confirmed(spec, path, log.version, plan.commit_ids.batch_id)
    written = rows_written(done)
    if written != snapshot.rows:
        raise StageBroken(
            f"{spec.id}: {written} rows were written where the source counts {snapshot.rows} in the same snapshot; "
            "they got no position, so that the next sync replaces them; run it again, and report it if it stays"
        )
    batch = Batch(
        plan.commit_ids.batch_id,
        written,
        digest="",
        warnings=warnings(plan, loaded.result()),
        in_target=True,
        by_spark=loaded.by_spark,
    )
    return batch, done.version


def _written(tasks: Tasks, of: by_tasks.Load, present: Present, changes: Difference) -> Made[Callable[[], int]]:
    """A function for the number of rows past the source's clock, to be called once the commit is confirmed: of a write that Delta skipped, Spark never gives counts, and the call would not return."""
    plan, spec = of.plan, of.plan.spec

    def tasks_write() -> Callable[[], int]:
        if changes:
            raise NotByTasks("the columns change")
        if why := refused_to_stage(spec):
            raise NotByTasks(why)
        done = by_tasks.load(tasks, present.path, of)
        return lambda: done.future

    def spark_writes() -> Callable[[], int]:
        frame = of.snapshot.frame
        check_types(spec, frame)
        counted = Observation()
        rows = shaped(plan, frame.observe(counted, count_future(plan).alias(own("future"))), present, changes)
        to = Write(present.path, of.note, overwrites=True, evolves=bool(changes), rows_per_file=of.rows_per_file)
        write(rows, to)
        return lambda: int(counted.get[own("future")])

    return plane.commit(present.path, f"{spec.id}: its rows are loaded", tasks_write, spark_writes)
