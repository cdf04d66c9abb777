"""Staged batches: what one snapshot showed, on disk and counted, before the target is touched."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from incremental_assets.adapters.delta import plane
from incremental_assets.adapters.delta.erased import LakeErasures
from incremental_assets.adapters.delta.errors import explained
from incremental_assets.adapters.delta.ownership import Ownership
from incremental_assets.adapters.delta.plane import Made
from incremental_assets.adapters.delta.staging.arrow_staging import refused_to_stage, write_gone, write_parts
from incremental_assets.adapters.delta.staging.breaches import answered, told
from incremental_assets.adapters.delta.staging.staged import Staged
from incremental_assets.adapters.delta.storage import make_own_folder, names_in, remove_folder
from incremental_assets.adapters.spark.manifest import has_manifest, record
from incremental_assets.adapters.spark.not_by_tasks import NotByTasks
from incremental_assets.adapters.spark.tasks import Tasks
from incremental_assets.core.errors import LakeRefused, StageBroken, StoreUnreachable
from incremental_assets.core.model.batch import Batch
from incremental_assets.core.model.measure import Duplicates
from incremental_assets.core.model.paths import staging_path
from incremental_assets.core.model.table import FuturePolicy
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.planning.plan import SyncPlan
from incremental_assets.core.ports import GoneRows, Snapshot
from incremental_assets.core.words import agreeing, counted

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


NO_DUPLICATES = Duplicates(0, 0)


class ParquetStage:
    """Implements `core.ports.Stage`: one folder of Parquet per batch, under the lake."""

    def __init__(
        self,
        lake: str,
        session: Callable[[], SparkSession],
        tasks: Tasks | None = None,
        owner: Ownership | None = None,
        erasures: LakeErasures | None = None,
    ) -> None:
        self._lake, self._session, self._tasks = lake, session, tasks or Tasks(session, lake)
        self._owner, self._erasures = owner or Ownership(lake), erasures or LakeErasures(lake)

    def write(self, plan: SyncPlan, snapshot: Snapshot, gone: GoneRows | None = None) -> Batch:
        """Write the snapshot's rows in one pass, and the keys that are gone, and check the count against the source's own."""
        table, batch_id = plan.spec.id, plan.commit_ids.batch_id
        path = staging_path(self._lake, table, batch_id)
        with explained(table, self._lake, path):
            self._owner.check(table)
            self._sweep(table)
            make_own_folder(staging_path(self._lake, table))
            made = self._staged(plan, snapshot, gone, path)
            staged = made.result
            if has_manifest(path):
                record(path)
        expected = snapshot.rows + (gone.rows if gone else 0)
        read_rows = staged.rows + staged.erased
        if read_rows != expected:
            raise StageBroken(
                f"{table}: {read_rows} rows were read where the source counts {expected} in the same snapshot; "
                "nothing was written, run the sync again, and report it if it stays"
            )
        answered(plan, staged.breaches, staged.rows)
        duplicates = self._repeated_keys(plan, path) if plan.spec.trusts_key else NO_DUPLICATES
        return Batch(
            batch_id=batch_id,
            rows=staged.rows,
            digest=staged.digest,
            lower=staged.lower,
            rejected=staged.rejected,
            held=staged.held,
            gone=staged.gone,
            duplicates=duplicates.rows,
            keys=staged.keys,
            warnings=(
                *warnings(plan, staged.future, staged.rejected - staged.held, duplicates),
                *told(plan, staged.breaches),
            ),
            keeps_out=staged.keeps_out,
            by_spark=made.by_spark,
        )

    def discard(self, table: TableId, batch_id: str) -> tuple[str, ...]:
        """Remove a batch, whole or half. What a store does not let go is said, and is in nobody's way: each batch has a folder of its own."""
        try:
            remove_folder(staging_path(self._lake, table, batch_id), self._session)
        except (LakeRefused, StoreUnreachable) as error:
            return (
                f"what was staged stays in {staging_path(self._lake, table)} until a later sync may remove it: {error}",
            )
        return ()

    def _staged(self, plan: SyncPlan, snapshot: Snapshot, gone: GoneRows | None, path: str) -> Made[Staged]:
        some = gone if gone is not None and gone.rows > 0 else None
        erased = self._erasures.keys(plan.spec.id)

        def by_tasks() -> Staged:
            if snapshot.parts is None:
                raise NotByTasks("its rows come by Spark alone")
            if why := "only Spark can reach its lake" if not has_manifest(path) else refused_to_stage(plan.spec):
                raise NotByTasks(why)
            staged = write_parts(self._tasks, plan, snapshot.parts, path, erased)
            return write_gone(plan.spec, staged, some.keys, path) if some else staged

        def by_spark() -> Staged:
            if erased is not None:
                raise LakeRefused(
                    f"{plan.spec.id}: keys of it were erased, which only our own tasks keep out, and its rows come by Spark alone, so that nothing was "
                    "staged; `incremental-assets doctor` says what Spark's workers lack"
                )
            remove_folder(path, self._session)
            # Inside the function: importing Spark takes longer than a sync in which nothing moved. After the session, as in `lake.py`.
            session = self._session()
            from incremental_assets.adapters.delta.staging.staging import with_gone, write_counted

            frame = snapshot.frame
            if some:
                frame = with_gone(plan.spec, frame, session.createDataFrame(some.keys))
            return write_counted(plan, frame, path)

        return plane.read(f"{plan.spec.id}: its batch is staged", by_tasks, by_spark)

    def _repeated_keys(self, plan: SyncPlan, path: str) -> Duplicates:
        session = self._session()
        from incremental_assets.adapters.delta.staging.staging import repeated_keys

        return repeated_keys(session, path, plan.spec)

    def _sweep(self, table: TableId) -> None:
        """The run that writes here holds the table's lease, and its installation owns the table, so that any other batch was left by a run that is over.

        Where a store denies it, that is said once this run's own batch is to go.
        """
        with suppress(LakeRefused):
            for name in names_in(staging_path(self._lake, table), self._session):
                remove_folder(f"{staging_path(self._lake, table)}/{name}", self._session)


def warnings(plan: SyncPlan, future: int, rejected: int = 0, duplicates: Duplicates = NO_DUPLICATES) -> tuple[str, ...]:
    """What an operator should know of a batch."""
    sentences = []
    if future and plan.spec.future is FuturePolicy.LAND:
        sentences.append(
            f"{counted(future, 'row')} {agreeing(future, 'is', 'are')} stamped past the source's clock ({plan.reading.told_above}): landed, without moving the watermark"
        )
    if rejected:
        sentences.append(f"{counted(rejected, 'row')} cannot land and went to quarantine")
    if duplicates.rows:
        rows, named = duplicates.rows, " · ".join(duplicates.samples)
        sentences.append(
            f"{counted(rows, 'row')} {agreeing(rows, 'repeats', 'repeat')} a key ({', '.join(plan.spec.named_key)}) that the source does not enforce"
            f"{f', such as {named}' if named else ''}; of each key the row with the largest cursor landed"
        )
    return tuple(sentences)
