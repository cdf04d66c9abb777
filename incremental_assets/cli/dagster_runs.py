"""Syncs that move rows run through Dagster's instance, in this process: the UI shows them like the sensor's, and they share one Spark session."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from dagster import AssetKey, DagsterInstance, DagsterRunStatus, Definitions, RunsFilter, in_process_executor
from sqlalchemy.exc import OperationalError

from incremental_assets.cli.opening import dagster_home
from incremental_assets.cli.orphaned_runs import free_dead_slots, holder_of, own_tags
from incremental_assets.cli.streams import left_to_dagster
from incremental_assets.core.concurrency.interruption import this_process
from incremental_assets.core.errors import SetupError, SourceBusy
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.model.table_shape import TableShape
from incremental_assets.core.observing.observers import Observer
from incremental_assets.core.observing.occurrences import Occurrence, SyncEnded
from incremental_assets.core.planning.plan import Request
from incremental_assets.core.planning.report import Status, SyncReport
from incremental_assets.core.preview.pending import Pending
from incremental_assets.defs.announced import Announced, CatchUp, catch_up
from incremental_assets.defs.assets import NOTHING_EARLIER, Earlier, sync_assets
from incremental_assets.defs.build import views
from incremental_assets.defs.checks import RANGE_TAGS
from incremental_assets.defs.jobs import sync_jobs
from incremental_assets.defs.names import plain
from incremental_assets.defs.opened import RESOURCE
from incremental_assets.defs.partitions import Scheme, offer
from incremental_assets.defs.repair import TABLES, repair_job, repair_op
from incremental_assets.defs.sensors import run_requests
from incremental_assets.defs.tables import View
from incremental_assets.defs.tags import MODE_TAG, NOW_TAG, SHRINK_TAG
from incremental_assets.resources.creation import alone, opened
from incremental_assets.resources.migrations import read_once

if TYPE_CHECKING:
    from incremental_assets.resources.runtime import Runtime

_QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
"""Dagster's log is stored with the run; on the terminal it would hide the answer."""


BACKFILL_TAG = "incremental_assets/backfill"
"""Table and window as requested and the grid, by which a second call knows what the first one has landed: a day and a month may have one key."""


@dataclass(frozen=True, slots=True)
class Launch:
    """A job, and the assets that it is about; those of a job with `settings` are named there."""

    job: str
    keys: tuple[AssetKey, ...]
    tags: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, object] = field(default_factory=dict)


class DagsterRuns:
    """Runs of one source's tables on the instance, one after the other, with one set of definitions."""

    def __init__(self, runtime: Runtime, source: str, earlier: Earlier = NOTHING_EARLIER) -> None:
        shapes: dict[str, tuple[TableShape, ...]] = {source: runtime.checkpoints.catalogue(source) or ()}
        self.view: View = next(view for view in views(runtime.configuration, shapes) if view.name == source)
        self._runtime, self._reports = runtime, Reports()
        self._busy: dict[TableId, SourceBusy] = {}
        # Without the checks: a selection of assets would bring theirs into the run, and they read whole tables.
        self._definitions = Definitions(
            assets=[*self.view.external(), *sync_assets(self.view, earlier)],
            jobs=[*sync_jobs(self.view).values(), repair_job(self.view)],
            resources={RESOURCE: runtime},
            executor=in_process_executor,
        )

    def sync(self, moving: Sequence[Pending], request: Request) -> list[SyncReport]:
        """One run per partition scheme and range of partitions, as the sensor would ask for them; a report for each table whatever happens."""
        ends: dict[TableId, str] = {}
        wanted = {SHRINK_TAG: request.allow_shrink, NOW_TAG: request.looks_now}
        tags = {MODE_TAG: str(request.mode), **{tag: "true" for tag, is_wanted in wanted.items() if is_wanted}}
        with dagster_instance() as instance:
            asked, dynamic, stopped = run_requests(self.view, sync_jobs(self.view), moving, instance, datetime.now(UTC))
            for more in dynamic:
                instance.add_dynamic_partitions(more.partitions_def_name, list(more.partition_keys))
            ends |= {each.table: each.sentence for each in stopped}
            for each in asked:
                keys = list(each.asset_selection or ())
                launch = Launch(str(each.job_name), tuple(keys), {**each.tags, **tags})
                error = self._execute(launch, instance, request.run_id)
                ends |= {table: _of(table, error) for table in map(self.view.table_of, keys)}
        return [self._report(found.spec, request, ends.get(found.spec.id, "")) for found in moving]

    def show(self, specs: Sequence[TableSpec]) -> None:
        """Announce what of these tables has landed and Dagster does not show: of a run that was killed, or before this home was made."""
        schemes = {known.id: known.scheme for known in self.view.tables}
        known = [spec for spec in specs if spec.id in schemes]
        ports, positions = self._runtime.ports(self.view.name), self._runtime.checkpoints.positions()
        with dagster_instance() as instance:
            catch_up(
                Announced(instance, self.view.keys),
                CatchUp.of_tick(instance, ports, self.view.keys),
                known,
                schemes,
                positions,
            )

    def read_again(self, spec: TableSpec, keys: Sequence[str], request: Request, backfill: str) -> SyncReport:
        """One run on contiguous partitions of one table; `backfill` names what it is a part of."""
        scheme = self._scheme(spec.id)
        tags = {BACKFILL_TAG: _named(backfill, scheme), **dict(zip(RANGE_TAGS, (keys[0], keys[-1]), strict=True))}
        with dagster_instance() as instance:
            # A run that is under way asks Dagster for its own keys until its end.
            if self._is_held([spec.id], instance):
                return self._report(spec, request, "")
            offer(instance, scheme, keys)
            keys_of = tuple(self.view.asset_keys([spec.id]))
            launch = Launch(sync_jobs(self.view)[scheme].name, keys_of, tags)
            error = self._execute(launch, instance, request.run_id)
        return self._report(spec, request, _of(spec.id, error))

    def repair(self, specs: Sequence[TableSpec], request: Request) -> list[SyncReport]:
        """One run of the job that repairs drift; a report for each table whatever happens."""
        names = [f"{spec.id.schema}.{spec.id.name}" for spec in specs]
        settings = {"ops": {repair_op(self.view.name): {"config": {TABLES: names}}}}
        keys = tuple(self.view.keys.of(spec.id) for spec in specs)
        launch = Launch(plain("repair", self.view.name, "job"), keys, settings=settings)
        with dagster_instance() as instance:
            error = self._execute(launch, instance, request.run_id)
        # Where it came to the table, its own report says what went wrong.
        return [self._report(spec, request, _of(spec.id, error)) for spec in specs]

    def offered(self, table: TableId) -> tuple[str, ...]:
        """The keys of an integer grid that Dagster has for the table; none for another grid."""
        scheme = self._scheme(table)
        with dagster_instance() as instance:
            return tuple(instance.get_dynamic_partitions(scheme.dynamic)) if scheme.dynamic else ()

    def landed(self, table: TableId, backfill: str, keys: Sequence[str]) -> frozenset[str]:
        """Those of the keys that successful runs of the same backfill have read, unless a reset or a rollback has taken that back."""
        standing = self._runtime.checkpoints.standing_backfills(table)
        with dagster_instance() as instance:
            records = instance.get_run_records(
                RunsFilter(
                    tags={BACKFILL_TAG: _named(backfill, self._scheme(table))}, statuses=[DagsterRunStatus.SUCCESS]
                )
            )
        runs = [record.dagster_run for record in records if record.dagster_run.run_id in standing]
        ranges = [tuple(run.tags[tag] for tag in RANGE_TAGS) for run in runs]
        place = {key: number for number, key in enumerate(keys)}
        # Of a number's grid that has changed since, the keys say nothing about these.
        whole = [(place[first], place[last]) for first, last in ranges if first in place and last in place]
        return frozenset(key for key, number in place.items() if any(first <= number <= last for first, last in whole))

    def _scheme(self, table: TableId) -> Scheme:
        return next(known.scheme for known in self.view.tables if known.id == table)

    def _execute(self, launch: Launch, instance: DagsterInstance, run_id: str) -> str:
        """Run it to its end; gives why it failed, or nothing. While another run holds the source, its tables are busy."""
        if self._is_held({self.view.table_of(key) for key in launch.keys}, instance):
            return ""
        with left_to_dagster(), self._runtime.observer.joined_by(self._reports):
            result = self._definitions.resolve_job_def(launch.job).execute_in_process(
                run_config={**_QUIET, **launch.settings},
                instance=instance,
                asset_selection=None if launch.settings else launch.keys,
                tags={**launch.tags, **own_tags(self._runtime.configuration.path)},
                # The first run of the first source is the one that the whole answer names.
                run_id=None if instance.has_run(run_id) else run_id,
                raise_on_error=False,
            )
        if this_process.asked:
            raise KeyboardInterrupt
        return (
            ""
            if result.success
            else f"its run {result.run_id} in Dagster failed before it came to this table; its page in `incremental-assets dev` shows why"
        )

    def _is_held(self, tables: Iterable[TableId], instance: DagsterInstance) -> bool:
        """Whether another run holds the source; these tables are then reported as busy."""
        beats = self._runtime.checkpoints.heartbeats().values()
        other = free_dead_slots(instance, self.view.name, {beat.run_id for beat in beats if beat.run_id})
        if other is not None:
            holder = holder_of(instance.get_run_by_id(other), self._runtime.configuration.path)
            self._busy |= {table: SourceBusy(table, self.view.name, other, *holder) for table in tables}
        return other is not None

    def _report(self, spec: TableSpec, request: Request, error: str) -> SyncReport:
        table = spec.id
        report, busy = self._reports.last.pop(table, None), self._busy.pop(table, None)
        if report is not None:
            return report
        if busy is not None:
            return SyncReport.failed(spec, request, busy)
        if error:
            return SyncReport.failed(spec, request, SetupError(error))
        return replace(SyncReport.of(spec, request, Status.IDLE), reason="nothing changed")


def _named(backfill: str, scheme: Scheme) -> str:
    return f"{backfill} by {scheme.name}"


def _of(table: TableId, error: str) -> str:
    return f"{table}: {error}" if error else ""


class Reports(Observer):
    """The last report of every table."""

    def __init__(self) -> None:
        self.last: dict[TableId, SyncReport] = {}

    def notify(self, occurrence: Occurrence) -> None:
        """One assignment, which is safe from any thread."""
        if isinstance(occurrence, SyncEnded):
            self.last[occurrence.report.table] = occurrence.report


@contextmanager
def dagster_instance() -> Iterator[DagsterInstance]:
    """The instance of DAGSTER_HOME. Raises SetupError where its folder takes no file, as on a full disk, then or later."""
    home = dagster_home()
    read_once()
    try:
        with alone(home):
            opening = opened(DagsterInstance.get)
        with opening as instance:
            yield instance
    except OperationalError as error:  # those of the checkpoint table are explained where it is read
        raise SetupError(
            f"Dagster's run history in {home} could not be read or written ({error.orig});"
            " let this user write there, free disk space, or name another folder by DAGSTER_HOME"
        ) from error
