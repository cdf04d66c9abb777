"""Land one batch: choose the way, run its writer, make one commit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType

from pyspark.sql import SparkSession

from incremental_assets.adapters.delta import dedup, plane
from incremental_assets.adapters.delta.beside import beside
from incremental_assets.adapters.delta.dedup import Present
from incremental_assets.adapters.delta.log.transaction_log import TableLog
from incremental_assets.adapters.delta.quarantine import kept_rows
from incremental_assets.adapters.delta.site import Site
from incremental_assets.adapters.delta.target_table import opened, prepare, vectors_wanted, widen, without_lost
from incremental_assets.adapters.delta.tasks import write as by_tasks
from incremental_assets.adapters.delta.writers import append, merge, overwrite, place, rewrite
from incremental_assets.adapters.delta.writers import replace as replacing
from incremental_assets.adapters.delta.writers.choice import Found, Way, marks, takes_away, way
from incremental_assets.adapters.delta.writers.landing import Delivery, Landing, Written
from incremental_assets.adapters.spark.tasks import Tasks
from incremental_assets.core.landing.overlap import overlap
from incremental_assets.core.landing.rewrite import lands_whole
from incremental_assets.core.model.cures import full_refresh
from incremental_assets.core.model.paths import staging_path, table_path
from incremental_assets.core.model.readers import Readers
from incremental_assets.core.model.schema_drift import Difference, Retyped, check_columns, difference
from incremental_assets.core.model.table import TableSpec

_WRITERS: Mapping[Way, Callable[[Landing], Written]] = MappingProxyType(
    {
        Way.PLACE: place.write,
        Way.OVERWRITE: overwrite.write,
        Way.APPEND: append.write,
        Way.REPLACE: replacing.write,
        Way.REWRITE: rewrite.write,
        Way.MERGE: merge.write,
    }
)


def land(session: SparkSession, tasks: Tasks, lake: str, log: TableLog, delivery: Delivery) -> Written:
    """Quarantine first, then the one commit. Raises SchemaChanged before anything is written."""
    plan, batch = delivery.plan, delivery.batch
    path, staged = table_path(lake, plan.spec.id), staging_path(lake, plan.spec.id, batch.batch_id)
    landed = log.landed()
    changes = difference(plan.spec.columns, log.columns())
    widened: tuple[Retyped, ...] = ()
    kept_late = 0
    if not batch.in_target:
        check_columns(plan.spec, changes, overwrites=plan.overwrites)
        widened = () if plan.overwrites else changes.retyped
        if widened:
            log, changes = _widened(session, path, plan.spec, log, changes)
    there = log.columns()
    present = Present(path, there, overlap(plan, batch, landed=landed))
    if not batch.in_target:
        kept_late = kept_rows.keep(Site(session, tasks, lake), plan, batch, staged) if batch.rejected else 0
        lost = without_lost(plan.spec, log, changes) if plan.overwrites else {}
        prepare(session, path, log, plan.spec.columns, {**lost, **vectors_wanted(path, plan.spec, log)})
    movable = _movable(delivery, present, changes, log) if landed else None
    found = Found(landed, present.overlap, movable=movable)
    written = _written(
        Landing(session, delivery, staged, log, present, changes, found, beside(lake, plan.spec, log)), tasks
    )
    late = written.late
    told = [f"{each.name!r} was {each.was} and is {each.now} in the copy, too" for each in widened]
    if plan.spec.readers is Readers.ANY and log.asks_for_vectors and not plan.overwrites:
        told.append(
            "its copy was made before `copies: {readers: any}` was written here, and asks readers for deletion vectors; "
            f"{full_refresh(plan.spec)} makes it without"
        )
    return replace(written, late=lambda: late() + kept_late, warnings=(*written.warnings, *told))


def _written(landing: Landing, tasks: Tasks) -> Written:
    plan, batch, found = landing.plan, landing.delivery.batch, landing.found
    landed = found.landed
    may_leave, may_mark = takes_away(plan, batch, landed=landed), marks(plan, batch, landed=landed)
    keyed = (may_leave or may_mark) and plan.spec.traits.one_row_per_key
    made = plane.commit(
        landing.path,
        f"{plan.spec.id}: its batch is written",
        lambda: by_tasks.write(landing, Way.MERGE if keyed else way(plan, batch, found), tasks),
        lambda: _by_spark(landing, may_leave=may_leave, may_mark=may_mark),
    )
    return replace(made.result, by_spark=made.by_spark)


def _by_spark(landing: Landing, *, may_leave: bool, may_mark: bool) -> Written:
    plan, batch, session, staged = landing.plan, landing.delivery.batch, landing.session, landing.staged
    marked = dedup.marked(session, plan, staged, landing.present).count() if may_mark else 0
    gone, unfit = _leaving(session, landing.delivery, staged, landing.path) if may_leave else (0, 0)
    found = landing.found
    found = replace(found, marked=marked, leaving=gone, unfit=unfit, movable=None if marked else found.movable)
    return _WRITERS[way(plan, batch, found)](replace(landing, found=found))


def _widened(
    session: SparkSession, path: str, spec: TableSpec, log: TableLog, changes: Difference
) -> tuple[TableLog, Difference]:
    """The log once its columns have the source's types, and the differences that are left."""
    widen(session, path, changes.retyped)
    log = opened(session, path, spec, log.app_id)
    return log, difference(spec.columns, log.columns())


def _leaving(session: SparkSession, delivery: Delivery, staged: str, path: str) -> tuple[int, int]:
    """See `Found`: rows that leave, and those of them that are not gone. Where all are of one kind, one count tells."""
    plan, batch = delivery.plan, delivery.batch
    if plan.spec.deletes.marks:
        unfit = dedup.leaving(session, plan, staged, path, unfit=True).count()
        return unfit, unfit
    gone = dedup.leaving(session, plan, staged, path).count()
    unfit = batch.rejected - batch.held
    if not (gone and batch.gone and unfit):
        return gone, gone if unfit else 0
    return gone, dedup.leaving(session, plan, staged, path, unfit=True).count()


def _movable(delivery: Delivery, present: Present, changes: Difference, log: TableLog) -> int | None:
    """Asked of the log only where the answer may matter."""
    # Under other columns, rows that stay would be other ones.
    if changes or log.keeps_rows_in_place or not lands_whole(delivery.plan, present.overlap):
        return None
    return log.rows_in_files()
