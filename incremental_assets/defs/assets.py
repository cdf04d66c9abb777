"""The partitioned assets: one op per source and partition scheme, whose body calls `sync_table`, a few tables at a time.

A run tagged `mode: sync` continues from the watermark, and its partitions are only those that it announces. A run on partitions without that
tag reads their windows again.
"""

import time
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from types import MappingProxyType

from dagster import (
    AssetExecutionContext,
    AssetIn,
    AssetKey,
    AssetOut,
    AssetsDefinition,
    BackfillPolicy,
    Failure,
    MaterializeResult,
    Nothing,
    multi_asset,
)

from incremental_assets.core.captures.due import next_look
from incremental_assets.core.captures.registry import capture_of
from incremental_assets.core.config.resolve import Resolved
from incremental_assets.core.config.terms import terms_of
from incremental_assets.core.errors import IncrementalAssetsError, TableMissing
from incremental_assets.core.maintenance.replay import left_behind
from incremental_assets.core.model.history import History, HistoryRows
from incremental_assets.core.model.objective import NO_OBJECTIVES
from incremental_assets.core.model.partition import CURRENT
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.model.verified import Verified
from incremental_assets.core.observing.occurrences import SyncEnded
from incremental_assets.core.operations.budgets import Budget, budgets
from incremental_assets.core.planning.plan import Mode, Request
from incremental_assets.core.planning.report import Status, SyncReport
from incremental_assets.core.ports import Ports
from incremental_assets.core.preview.pending import later_keys
from incremental_assets.core.syncing.failure import record_failure
from incremental_assets.core.syncing.sync_many import as_they_land, listening
from incremental_assets.core.words import counted
from incremental_assets.defs import metadata
from incremental_assets.defs.announcing import announce
from incremental_assets.defs.backfill import read_again
from incremental_assets.defs.compaction import compact_landed
from incremental_assets.defs.earlier_landings import EarlierLandings
from incremental_assets.defs.following import Following
from incremental_assets.defs.in_flight import sign
from incremental_assets.defs.names import AssetKeys, plain, pool, source_key
from incremental_assets.defs.opened import Opened, opened
from incremental_assets.defs.partitions import Scheme, definition
from incremental_assets.defs.tables import Known, View
from incremental_assets.defs.tags import FIRST_TAG, MODE_TAG, NOW_TAG, SHRINK_TAG
from incremental_assets.defs.verdicts import report_light_checks

Earlier = Mapping[TableId, SyncReport]
NOTHING_EARLIER: Earlier = MappingProxyType({})

_MET = (Status.LANDED, Status.FAILED, Status.REFUSED)
"""The sync has observed the table, so its columns may have changed."""


@dataclass(frozen=True)
class _Told:
    """What a run has said so far: assets that have their result, by their names, and why it fails."""

    keys: AssetKeys
    assets: set[AssetKey] = field(default_factory=set)
    failures: list[str] = field(default_factory=list)
    verified: dict[TableId, Verified] = field(default_factory=dict)
    """What checks had found when the first table landed; of all tables, as it is one query."""
    budgets: dict[TableId, tuple[Budget, ...]] = field(default_factory=dict)
    """The same of what is left of the budgets of their objectives."""


def sync_assets(view: View, earlier: Earlier = NOTHING_EARLIER) -> list[AssetsDefinition]:
    """Every table of the source, in as few ops as there are partition schemes. `earlier`: what has landed of a table and Dagster has not heard of; the next run of it tells."""
    return [_op(view, scheme, tables, earlier) for scheme, tables in view.by_scheme().items()]


def _op(view: View, scheme: Scheme, tables: Sequence[Known], before: Earlier) -> AssetsDefinition:
    # Outputs and inputs are named here, since Dagster's own naming refuses keys with a quote or a space in them.
    names = {known.id: plain(known.id.schema, known.id.name) for known in tables}
    histories = {plain(known.id.schema, known.id.history.name): known for known in tables if known.keeps_history}
    specs_of = {
        **{names[known.id]: view.spec(known) for known in tables},
        **{name: view.history_spec(known) for name, known in histories.items()},
    }

    @multi_asset(
        name=scheme.op,
        outs={
            name: AssetOut.from_spec(spec, dagster_type=Nothing, is_required=False) for name, spec in specs_of.items()
        },
        ins={f"source__{names[known.id]}": AssetIn(source_key(known.id), dagster_type=Nothing) for known in tables},
        internal_asset_deps={
            **{names[known.id]: {source_key(known.id)} for known in tables},
            **{name: {view.keys.of(known.id)} for name, known in histories.items()},
        },
        partitions_def=definition(scheme),
        backfill_policy=BackfillPolicy.single_run(),
        can_subset=True,
        pool=pool(view.name),
        required_resource_keys={view.resource},
    )
    def sync(context: AssetExecutionContext) -> Iterator[MaterializeResult]:
        """Syncs the selected tables, and fails at the end, by name, if any of them did."""
        runtime, told, begun = opened(context.resources, view.resource), _Told(view.keys), time.monotonic()
        failures = told.failures
        sign(context, runtime)
        try:
            chosen, missing = _looked_up(context, view, runtime)
            failures += missing.values()
            runtime.expect_full_reads(spec.id for spec in chosen if capture_of(spec).is_whole)
            ports = runtime.ports(view.name)
            specs, landed = {spec.id: spec for spec in chosen}, dict[TableId, TableSpec]()
            earlier = EarlierLandings.begun(context, view.keys, scheme, chosen, ports)
            with listening(_with(before, _reports(context, view, scheme, chosen, ports))) as reports:
                for report in reports:
                    spec = specs[report.table]
                    if report.status is Status.LANDED:
                        context.log.info(_line(report))
                        if not landed:
                            told.verified.update(ports.checkpoints.verified())
                            told.budgets.update(_budgets(view, specs, ports))
                    if _is_empty(context, report, spec, ports):
                        context.log.info("%s: there are no rows, and so no partitions to announce", report.table)
                    else:
                        # Before the run's own, of which the newest has its totals: an asset's page shows what came last.
                        _announce_later_partitions(context, view, scheme, report, spec)
                        yield from _results(context, report, spec, ports, told)
                    earlier.after(report, spec)
                    if report.status in _MET:
                        report_light_checks(context.instance, spec, terms_of(view.config, spec.id), ports, view.keys)
                    if report.status is Status.LANDED:
                        landed[spec.id] = spec
            compact_landed(context, view, list(landed.values()), ports, time.monotonic() - begun)
        except IncrementalAssetsError as error:
            failures.append(str(error))
        if failures:
            raise Failure("\n".join(dict.fromkeys(failures))) from None

    return sync


def _looked_up(
    context: AssetExecutionContext, view: View, runtime: Opened
) -> tuple[list[TableSpec], dict[TableId, str]]:
    """The specs of the run's assets, and a sentence for each that has none; the checkpoint table records it like any other failure."""
    tables = {view.table_of(key) for key in context.selected_asset_keys}
    try:
        chosen, missing = selected(runtime.specs(view.name), tables)
    except IncrementalAssetsError as error:
        chosen, missing = [], dict.fromkeys(tables, str(error))
    for table, sentence in missing.items():
        strategy = terms_of(view.config, table).strategy
        failed = SyncReport(table, context.run.run_id, strategy, _mode(context), Status.FAILED, error=sentence)
        record_failure(failed, runtime.checkpoints)
        runtime.observer.notify(SyncEnded(failed))
    return chosen, missing


def _budgets(view: View, tables: Iterable[TableId], ports: Ports) -> dict[TableId, tuple[Budget, ...]]:
    """Of those that have objectives."""
    slos = {table: slo for table in tables if (slo := terms_of(view.config, table).slo) != NO_OBJECTIVES}
    return {table: budgets(slos[table], kept) for table, kept in ports.checkpoints.kept(slos).items()}


def _mode(context: AssetExecutionContext) -> Mode:
    return Mode(context.run.tags.get(MODE_TAG, Mode.BACKFILL))


def selected(resolved: Resolved, tables: Iterable[TableId]) -> tuple[list[TableSpec], dict[TableId, str]]:
    """The specs of these tables, and a sentence for each that has none."""
    wanted = set(tables)
    specs = [spec for spec in resolved.specs if spec.id in wanted]
    problems = {problem.table: str(problem.error) for problem in resolved.problems}
    without = sorted(wanted - {spec.id for spec in specs})
    return specs, {table: problems.get(table) or str(TableMissing(table)) for table in without}


def _reports(
    context: AssetExecutionContext, view: View, scheme: Scheme, specs: Sequence[TableSpec], ports: Ports
) -> Generator[SyncReport]:
    """One report per table, as they land."""
    mode = _mode(context)
    if mode is Mode.BACKFILL and scheme.grid is not None:
        return read_again(context, view, scheme.grid, specs, ports)
    shrinks, now = (context.run.tags.get(tag) == "true" for tag in (SHRINK_TAG, NOW_TAG))
    request = Request(context.run.run_id, mode, allow_shrink=shrinks, looks_now=now)
    follows = Following(context, scheme, ports, view.config.every, view.config.quiet)
    return follows.reports(
        specs, lambda some: as_they_land(some, lambda _: request, ports, view.config.parallel.tables)
    )


def _with(earlier: Earlier, reports: Generator[SyncReport]) -> Generator[SyncReport]:
    """The reports, each with what landed before it; of one that is not good, that comes first."""
    with closing(reports):
        for report in reports:
            before = earlier.get(report.table)
            if before is None:
                yield report
            elif report.status in (Status.LANDED, Status.IDLE):
                yield report.since(before)
            else:
                yield from (before, report)


def _results(
    context: AssetExecutionContext, report: SyncReport, spec: TableSpec, ports: Ports, told: _Told
) -> Iterator[MaterializeResult]:
    """A result for a table that landed; an idle one announces nothing."""
    if report.status is Status.LANDED:
        held = ports.quarantine.held(spec)
        if sentence := left_behind(spec, held):
            report = replace(report, warnings=(*report.warnings, sentence))
            context.log.warning("%s: %s", report.table, sentence)
        state = ports.checkpoints.position(spec.id).state
        due = next_look(spec, state)
        verified = known.through if (known := told.verified.get(spec.id)) else None
        budgets = told.budgets.get(spec.id, ())
        left = metadata.Left(ports.reader.rows(spec), held, ports.quarantine.unfit(spec), due, verified, budgets)
        entries = metadata.of_report(report, spec, left)
        yield from _materialized(context, told.keys.of(report.table), entries, told)
    elif report.status is Status.IDLE:
        context.log.info("%s: %s", report.table, report.reason)
    elif report.status in (Status.BUSY, Status.PAUSED) and report.mode is Mode.SYNC:
        # The run that holds the lease is already doing what was requested; what a person has paused is meant to be still.
        context.log.warning("%s", report.error)
    else:
        context.log.error("%s", report.error)
        told.failures.append(report.error or f"{report.table}: failed")
    done = report.history or (HistoryRows() if report.status is Status.LANDED else None)
    if spec.history is not History.NONE and done is not None:
        entries = metadata.of_history(done, report, spec, told.keys.of(spec.id))
        yield from _materialized(context, told.keys.of(spec.id.history), entries, told)


def _materialized(
    context: AssetExecutionContext, key: AssetKey, entries: metadata.Metadata, told: _Told
) -> Iterator[MaterializeResult]:
    """The result of a selected asset; of one that was synced with it unselected, a copy or its history, an event on each partition of the run.

    Of what lands once more, which is of the last partition, an event: a step has one result for each asset.
    """
    partitions = context.partition_keys
    earlier, newest, others = _earlier(context), partitions[-1], entries
    if key in told.assets:
        announce(context, key, {newest: entries})
        return
    told.assets.add(key)
    if earlier or len(partitions) > 1:
        others = metadata.of_any_partition(entries, newest)
    if key in context.selected_asset_keys:
        announce(context, key, dict.fromkeys(earlier, others))
        context.add_asset_metadata(metadata.totals(entries), key, newest)
        yield MaterializeResult(asset_key=key, metadata=others)
    else:
        announce(context, key, {**dict.fromkeys([*earlier, *partitions], others), newest: entries})


def _earlier(context: AssetExecutionContext) -> list[str]:
    """The partitions that a sync announces beside those for which it was requested, ascending."""
    first, begin = context.run.tags.get(FIRST_TAG), context.partition_keys[0]
    if _mode(context) is Mode.BACKFILL or first in (None, begin) or context.assets_def.partitions_def is None:
        return []
    known = list(context.assets_def.partitions_def.get_partition_keys(dynamic_partitions_store=context.instance))
    # Keys of numbers arrive anew when a backfill goes below the first one: then this run announces its own.
    return known[known.index(first) : known.index(begin)] if first in known and begin in known else []


def _is_empty(context: AssetExecutionContext, report: SyncReport, spec: TableSpec, ports: Ports) -> bool:
    """Whether nothing landed of a table with partitions, and nothing is there. One that is read whole is announced: that it is empty now is what it says."""
    if report.status is not Status.LANDED or context.partition_keys == [CURRENT]:
        return False
    rows = report.rows
    moved = rows.read or rows.inserted or rows.updated or rows.deleted or rows.quarantined
    return not moved and not ports.reader.rows(spec)


def _announce_later_partitions(
    context: AssetExecutionContext, view: View, scheme: Scheme, report: SyncReport, spec: TableSpec
) -> None:
    """Partitions that began after the run had been requested: an hour may turn before it reads, and an idle table has no next run."""
    if report.status is not Status.LANDED or report.mode is not Mode.SYNC:
        return
    end = context.partition_key_range.end
    entries = metadata.of_any_partition(metadata.of_report(report, spec), end)
    later = later_keys(scheme.grid, end, spec, report, datetime.now(UTC))
    announce(context, view.keys.of(spec.id), dict.fromkeys(later, entries))


def _line(report: SyncReport) -> str:
    rows = report.rows
    phases = ", ".join(f"{phase} {seconds:.1f}" for phase, seconds in report.phases)
    return (
        f"{report.table}: {counted(rows.read, 'row')} read, {rows.inserted:,} inserted, {rows.updated:,} updated, {rows.unchanged:,} unchanged "
        f"in {report.seconds:.1f} s ({phases}); watermark {report.new_watermark or 'none'}"
    )
