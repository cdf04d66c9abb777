"""The partitioned assets: one op per source and partition scheme, whose body calls `sync_table`, a few tables at once.

A run tagged `mode: sync` goes on from the watermark, and its partitions only say what it announces. A run on partitions without that
tag reads their windows again.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace

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

from incremental_assets.core.errors import IncrementalAssetsError, TableMissing
from incremental_assets.core.many import as_they_land
from incremental_assets.core.plan import Mode, Request
from incremental_assets.core.report import RowCounts, Status, SyncReport
from incremental_assets.core.resolve import Resolved
from incremental_assets.core.table import TableId, TableSpec
from incremental_assets.core.window import Window
from incremental_assets.defs import metadata
from incremental_assets.defs.names import asset_key, plain, pool, source_key, table_of
from incremental_assets.defs.opened import Opened, opened
from incremental_assets.defs.partitions import Scheme, definition, windows
from incremental_assets.defs.tables import Known, View

MODE_TAG = "mode"
"""`sync`: on from the watermark. `full_refresh`: everything again. Absent: the windows of the run's partitions."""
SHRINK_TAG = "allow_shrink"
"""`true`: a table that is read whole may have lost most of its rows."""


def sync_assets(view: View) -> list[AssetsDefinition]:
    """Every table of the source, in as few ops as there are partition schemes."""
    return [_op(view, scheme, tables) for scheme, tables in view.by_scheme().items()]


def _op(view: View, scheme: Scheme, tables: Sequence[Known]) -> AssetsDefinition:
    # Outputs and inputs are named here, since Dagster's own naming refuses keys with a quote or a space in them.
    names = {known.id: plain(known.id.schema, known.id.name) for known in tables}

    @multi_asset(
        name=scheme.op,
        outs={
            names[known.id]: AssetOut.from_spec(view.spec(known), dagster_type=Nothing, is_required=False)
            for known in tables
        },
        ins={f"source__{names[known.id]}": AssetIn(source_key(known.id), dagster_type=Nothing) for known in tables},
        internal_asset_deps={names[known.id]: {source_key(known.id)} for known in tables},
        partitions_def=definition(scheme),
        backfill_policy=BackfillPolicy.single_run(),
        can_subset=True,
        pool=pool(view.name),
        required_resource_keys={view.resource},
    )
    def sync(context: AssetExecutionContext) -> Iterator[MaterializeResult]:
        """Syncs the selected tables, and fails at the end, by name, if any of them did."""
        runtime, failures = opened(context.resources, view.resource), list[str]()
        try:
            chosen, missing = selected(runtime.specs(view.name), context.selected_asset_keys)
            failures += missing.values()
            yield from _landed(
                context, _reports(context, view, scheme, chosen, runtime), {spec.id: spec for spec in chosen}, failures
            )
        except IncrementalAssetsError as error:
            failures.append(str(error))
        if failures:
            raise Failure("\n".join(failures)) from None

    return sync


def selected(resolved: Resolved, keys: Iterable[AssetKey]) -> tuple[list[TableSpec], dict[TableId, str]]:
    """The specs of these assets, and one sentence for each that has none."""
    wanted = {table_of(key) for key in keys}
    specs = [spec for spec in resolved.specs if spec.id in wanted]
    problems = {problem.table: str(problem.error) for problem in resolved.problems}
    without = sorted(wanted - {spec.id for spec in specs})
    return specs, {table: problems.get(table) or str(TableMissing(table)) for table in without}


def _reports(
    context: AssetExecutionContext, view: View, scheme: Scheme, specs: Sequence[TableSpec], runtime: Opened
) -> Iterator[SyncReport]:
    """One report per table, as they land. Partitions with a gap between them are read window by window."""
    rounds = _requests(context, scheme, specs)
    ports = runtime.ports(view.name)

    def landing(asked: Mapping[TableId, Request]) -> Iterator[SyncReport]:
        return as_they_land(specs, lambda spec: asked[spec.id], ports, view.config.parallel.tables)

    if len(rounds) == 1:
        yield from landing(rounds[0])
        return
    parts: dict[TableId, list[SyncReport]] = {spec.id: [] for spec in specs}
    for asked in rounds:
        for report in landing(asked):
            parts[report.table].append(report)
    yield from (_together(reports) for reports in parts.values())


def _requests(
    context: AssetExecutionContext, scheme: Scheme, specs: Sequence[TableSpec]
) -> list[Mapping[TableId, Request]]:
    """What is asked of each table; one mapping per contiguous range of partitions."""
    tags = context.run.tags
    mode = Mode(tags.get(MODE_TAG, Mode.BACKFILL))
    request = Request(context.run.run_id, mode, allow_shrink=tags.get(SHRINK_TAG) == "true")
    if mode is not Mode.BACKFILL or scheme.grid is None:
        return [{spec.id: request for spec in specs}]
    kinds = {spec.id: spec.cursor.type for spec in specs if spec.cursor is not None}
    asked = {table: windows(scheme.grid, context.partition_keys, kind) for table, kind in kinds.items()}
    count = max((len(each) for each in asked.values()), default=0)
    return [{table: replace(request, window=each[number]) for table, each in asked.items()} for number in range(count)]


def _landed(
    context: AssetExecutionContext,
    reports: Iterator[SyncReport],
    specs: Mapping[TableId, TableSpec],
    failures: list[str],
) -> Iterator[MaterializeResult]:
    """A result for each table that landed; an idle one announces nothing."""
    with closing(reports):  # type: ignore[type-var]
        for report in reports:
            if report.status is Status.LANDED:
                context.log.info(_line(report))
                yield MaterializeResult(
                    asset_key=asset_key(report.table), metadata=metadata.of_report(report, specs[report.table])
                )
            elif report.status is Status.IDLE:
                context.log.info("%s: %s", report.table, report.reason)
            elif report.status is Status.BUSY and report.mode is Mode.SYNC:
                # Whoever holds the lease is doing just what was asked for.
                context.log.warning("%s", report.error)
            else:
                context.log.error("%s", report.error)
                failures.append(report.error or f"{report.table}: failed")


def _line(report: SyncReport) -> str:
    rows = report.rows
    stages = ", ".join(f"{stage} {seconds:.1f}" for stage, seconds in report.stages)
    return (
        f"{report.table}: {rows.read} rows read, {rows.inserted} inserted, {rows.updated} updated, {rows.unchanged} unchanged "
        f"in {report.seconds:.1f} s ({stages}); watermark {report.new_watermark or 'none'}"
    )


def _together(reports: Sequence[SyncReport]) -> SyncReport:
    """Several windows of one table as one report, which has failed if one of them has."""
    last = next((report for report in reports if report.status is not Status.LANDED), reports[-1])
    counts = [report.rows for report in reports]
    first, final = reports[0].window, reports[-1].window
    return replace(
        last,
        window=Window(first.lower, final.upper) if first and final else last.window,
        rows=RowCounts(*(sum(values) for values in zip(*(_numbers(rows) for rows in counts), strict=True))),
        seconds=sum(report.seconds for report in reports),
    )


def _numbers(rows: RowCounts) -> tuple[int, ...]:
    return rows.read, rows.inserted, rows.updated, rows.deleted, rows.unchanged, rows.late, rows.quarantined
