"""`sync`: unchanged tables are finished here, without Spark; the others run through Dagster."""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from incremental_assets.adapters.spark.pandas_later import pandas_later
from incremental_assets.cli import reports
from incremental_assets.cli.answer import Answer
from incremental_assets.cli.audited import audited
from incremental_assets.cli.opening import configured, opened
from incremental_assets.cli.pace import Pace
from incremental_assets.cli.progress import ProgressDisplay, progress_display
from incremental_assets.cli.selection import Selection, selected, with_problems
from incremental_assets.cli.streams import left_to_dagster
from incremental_assets.core.captures.registry import capture_of
from incremental_assets.core.config.terms import terms_of
from incremental_assets.core.errors import IncrementalAssetsError, Paused, Refused
from incremental_assets.core.maintenance.replay import left_behind
from incremental_assets.core.model.cures import resume
from incremental_assets.core.model.deed import Act
from incremental_assets.core.model.observe_request import ObserveRequest
from incremental_assets.core.model.partition import Grid
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.model.window import Window
from incremental_assets.core.planning.events import Checkpoint
from incremental_assets.core.planning.plan import Mode, Request
from incremental_assets.core.planning.report import Status, SyncReport
from incremental_assets.core.ports import Ports
from incremental_assets.core.preview.pending import Pending, located, look_over
from incremental_assets.core.strategies import traits_of
from incremental_assets.core.syncing.cached_probe import CachedProbe
from incremental_assets.core.syncing.failure import record_failure
from incremental_assets.core.syncing.idle import IdleTable, finish
from incremental_assets.core.syncing.loading import together
from incremental_assets.core.syncing.looking import observe
from incremental_assets.core.syncing.sync_many import sync_many

if TYPE_CHECKING:
    from incremental_assets.resources.runtime import Runtime

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Options:
    """The options besides the tables."""

    full_refresh: bool = False
    allow_shrink: bool = False
    now: bool = False
    yes: bool = False
    reason: str = ""
    """Of a full refresh, for the audit."""

    @property
    def mode(self) -> Mode:
        """Why the tables are synced."""
        return Mode.FULL_REFRESH if self.full_refresh else Mode.SYNC


def run(config: Path | None, patterns: Sequence[str], options: Options) -> Answer:
    """Run the command."""
    begun = time.monotonic()
    with opened(configured(config)) as runtime, progress_display() as display, runtime.observer.joined_by(display):
        found = selected(runtime, patterns)
        refuse_unless_meant(found, options)
        run_id = str(uuid.uuid4())
        request = Request(run_id, options.mode, allow_shrink=options.allow_shrink, looks_now=options.now)
        if options.full_refresh:
            audited(runtime, Act.FULL_REFRESH, found.tables, run_id, options.reason)
        done = to_the_end(runtime, found, request, display)
        done = with_left_behind(runtime, found, done)
        summary = reports.answer(run_id, done, reports.summary(done), time.monotonic() - begun)
        return with_problems(summary, found)


def with_left_behind(runtime: Runtime, found: Selection, done: Sequence[SyncReport]) -> tuple[SyncReport, ...]:
    """The reports with a warning of held rows for each table that no longer has a contract: no other report of a sync would show them."""
    left = {spec.id: left_behind(spec, runtime.held(spec)) for spec in found.specs if spec.contract is None}
    return tuple(
        replace(report, warnings=(*report.warnings, sentence)) if (sentence := left.get(report.table)) else report
        for report in done
    )


def refuse_unless_meant(found: Selection, options: Options) -> None:
    """Raises Refused where rows that only the copy holds would go, before anything is touched."""
    if options.yes:
        return
    kept = [str(spec.id) for spec in found.specs if _keeps_versions(spec, found.positions)]
    if options.full_refresh and kept:
        raise Refused(
            f"a full refresh replaces tables that keep every version of a row, and versions that the source no longer shows would be lost: {', '.join(kept)}; "
            "add --yes to confirm, or leave them out with --select"
        )
    if options.allow_shrink:
        raise Refused(
            "--allow-shrink lets a source that has lost most of its rows replace its copy; add --yes to confirm"
        )


def _keeps_versions(spec: TableSpec, positions: Mapping[TableId, Checkpoint]) -> bool:
    """Whether the rows that are there do, or those that would come: the configuration may have changed since."""
    state = positions.get(spec.id, Checkpoint()).state
    return spec.traits.keeps_versions or (state is not None and traits_of(state.terms.strategy).keeps_versions)


def sync_all(
    runtime: Runtime, found: Selection, request: Request, display: ProgressDisplay, pace: Pace | None = None
) -> tuple[SyncReport, ...]:
    """Every table that was selected, source by source; the reports are in the order of the tables. `pace`: how often Dagster hears of it; each time without one."""
    done = _paused(runtime, found, request)
    order = found.tables
    found = found.among({*order} - done.keys())
    failed = {trouble.table: reports.report_of(trouble, request.run_id, request.mode) for trouble in found.troubles}
    for report in failed.values():
        record_failure(report, runtime.checkpoints)
    done |= failed
    for source in runtime.configuration.sources:
        if found.of(source.name):
            display.begin(spec.id for spec in found.of(source.name))
            done |= {report.table: report for report in _sync_source(runtime, source.name, found, request, pace)}
    return tuple(done[table] for table in order)


def to_the_end(
    runtime: Runtime, found: Selection, request: Request, display: ProgressDisplay
) -> tuple[SyncReport, ...]:
    """`sync_all`, and again for tables whose first load goes on, as often as it does: nobody else may sync them."""
    reports = {report.table: report for report in sync_all(runtime, found, request, display)}
    while left := [table for table, report in reports.items() if report.unfinished]:
        again = found.among(left)
        positions = runtime.checkpoints.positions()
        for report in sync_all(runtime, replace(again, positions=positions), request, display):
            went_well = report.status in (Status.LANDED, Status.IDLE)
            reports[report.table] = together([reports[report.table], report]) if went_well else report
    return tuple(reports[table] for table in found.tables)


def _paused(runtime: Runtime, found: Selection, request: Request) -> dict[TableId, SyncReport]:
    """Those that a person has paused, whatever else is the matter with them."""
    pauses = runtime.checkpoints.pauses()
    strategies = {spec.id: spec.strategy for spec in found.specs}
    strategies |= {trouble.table: trouble.terms.strategy for trouble in found.troubles}
    errors = {
        table: Paused(table, pause.sentence, resume(pause)) for table in found.tables if (pause := pauses.of(table))
    }
    return {
        table: SyncReport(table, request.run_id, strategies[table], request.mode, Status.PAUSED, error=str(error))
        for table, error in errors.items()
    }


def _sync_source(
    runtime: Runtime, source: str, found: Selection, request: Request, pace: Pace | None
) -> Sequence[SyncReport]:
    specs, ports = found.of(source), runtime.ports(source)
    config = runtime.configuration.source(source)
    parallel = config.parallel.tables

    def grid_of(table: TableId) -> Grid | None:
        return terms_of(config, table).partitions

    try:
        seen = look(specs, found.positions, request, ports)
        moving = located(seen.moving, ports.probe, grid_of)
        done = list(finish(seen.idle, request, ports))
    except Exception as error:  # noqa: BLE001 - the tables of other sources go on
        if not isinstance(error, IncrementalAssetsError):
            _log.exception("%s: the look failed with an unexpected error", source)
        reported = [SyncReport.failed(spec, request, error) for spec in specs]
        for report in reported:
            record_failure(report, ports.checkpoints)
        return reported
    ended = {*(each.spec.id for each in moving), *(report.table for report in done)}
    left = [spec for spec in specs if spec.id not in ended]
    # The look is good for them too: they are not asked about one by one again.
    done += sync_many(left, lambda _: request, replace(ports, probe=seen.probe), parallel)
    if pace and moving and pace.waits(source, moving, grid_of):
        landed = sync_many(
            [each.spec for each in moving], lambda _: request, replace(ports, probe=seen.probe), parallel
        )
        pace.landed(source, moving, landed)
        return [*done, *landed]
    owed = pace.owed(source, moving) if pace else []
    if moving or owed:
        pandas_later()
        runtime.expect_full_reads(each.spec.id for each in moving if capture_of(each.spec).is_whole)
        with left_to_dagster():
            runtime.begin_session()
            # Dagster costs a second to import: only when rows move, and while the session begins.
            from incremental_assets.cli.dagster_runs import DagsterRuns

            runs = DagsterRuns(runtime, source, pace.untold(source) if pace else {})
            done += runs.sync([*moving, *owed], request)[: len(moving)]
            runs.show(specs)
            if pace:
                pace.told(source, moving, grid_of)
    return done


@dataclass(frozen=True, slots=True)
class Seen:
    """The tables that need Spark, those that stand still, and what was seen, which answers for the others."""

    moving: tuple[Pending, ...]
    idle: tuple[IdleTable, ...]
    probe: CachedProbe


def look(specs: Sequence[TableSpec], positions: Mapping[TableId, Checkpoint], request: Request, ports: Ports) -> Seen:
    """Asked of the source all at once, decided as the sync itself will decide."""
    looks = [ObserveRequest(spec, positions.get(spec.id, Checkpoint()).state) for spec in specs]
    observations = observe(ports.probe, looks, ports.observer, request.run_id)
    probe = CachedProbe(ports.probe, looks, observations)
    if request.mode is not Mode.SYNC:
        windows = [Window(spec.start, None) for spec in specs]
        return Seen(tuple(Pending(*each) for each in zip(specs, windows, observations, strict=True)), (), probe)
    # One that may not go on meets the same error in its own sync, which records it.
    moving, _, still = look_over(specs, positions, observations, request=request)
    there = {found.spec.id for found in moving}
    return Seen(moving, tuple(each for each in still if each.spec.id not in there), probe)
