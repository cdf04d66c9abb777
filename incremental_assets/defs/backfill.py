"""A run on partitions: their windows are read again, a few partitions at a time, with a pause for the source in between.

Each part is one commit, and is announced once it has landed: a stopped run need not repeat it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Generator, Mapping, Sequence
from dataclasses import replace
from time import sleep

from dagster import AssetExecutionContext

from incremental_assets.core.model.partition import Grid, parts, window_of
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.model.window import Window
from incremental_assets.core.planning.plan import Mode, Request
from incremental_assets.core.planning.report import Status, SyncReport
from incremental_assets.core.ports import LakeAuditor, Ports
from incremental_assets.core.syncing.several_windows import together
from incremental_assets.core.syncing.sync_many import RequestFor, as_they_land, listening
from incremental_assets.defs import metadata
from incremental_assets.defs.announcing import announce
from incremental_assets.defs.tables import View


def read_again(
    context: AssetExecutionContext, view: View, grid: Grid, specs: Sequence[TableSpec], ports: Ports
) -> Generator[SyncReport]:
    """One report per table over all of its windows, when the last of them lands. After a failure no later window of the table is read."""
    terms, done = view.config.backfill, defaultdict[TableId, list[SyncReport]](list)
    request = Request(context.run.run_id, Mode.BACKFILL, connections=terms.connections)
    asked, left = parts(grid, context.partition_keys, terms.windows), list(specs)
    for keys in asked:
        if keys is not asked[0]:
            sleep(terms.pause.total_seconds())
        with listening(as_they_land(left, _asking(request, grid, keys), ports, view.config.parallel.tables)) as landing:
            for report in landing:
                done[report.table].append(report)
                if report.status is Status.LANDED:
                    (spec,) = (spec for spec in left if spec.id == report.table)
                    held = _held(spec, grid, keys, ports.auditor)
                    if keys is not asked[-1]:
                        _announce(context, view, spec, report, held)
                    # It may be that only its history was selected.
                    announces = view.keys.of(spec.id) in context.selected_asset_keys
                    for key, rows in held.items() if announces else ():
                        context.add_asset_metadata(metadata.of_partition(rows), view.keys.of(spec.id), key)
                if report.status is not Status.LANDED or keys is asked[-1]:
                    yield together(done[report.table])
        left = [spec for spec in left if done[spec.id][-1].status is Status.LANDED]


def _asking(request: Request, grid: Grid, keys: Sequence[str]) -> RequestFor:
    """The window of contiguous keys, in each table's own cursor."""

    def of(spec: TableSpec) -> Request:
        first, last = (_window(spec, grid, key) for key in (keys[0], keys[-1]))
        return replace(request, window=Window(first.lower, last.upper))

    return of


def _window(spec: TableSpec, grid: Grid, key: str) -> Window:
    if spec.read_by is None:
        raise ValueError(f"{spec.id}: a table without a cursor has no windows")
    return window_of(grid, key, spec.read_by.type)


def _held(spec: TableSpec, grid: Grid, keys: Sequence[str], lake: LakeAuditor) -> Mapping[str, int]:
    """Rows that each partition holds now."""
    return dict(zip(keys, lake.count(spec, [_window(spec, grid, key) for key in keys]), strict=True))


def _announce(
    context: AssetExecutionContext, view: View, spec: TableSpec, report: SyncReport, held: Mapping[str, int]
) -> None:
    """Partitions that have landed while others are pending; the run's own result announces the last ones."""
    context.log.info("%s: %s has landed, %s rows read", spec.id, report.window, f"{report.rows.read:,}")
    entries = metadata.of_any_partition(metadata.of_report(report, spec), context.partition_keys[-1])
    said = {key: {**entries, **metadata.of_partition(rows)} for key, rows in held.items()}
    announce(context, view.keys.of(spec.id), said)
