"""A first load of a large table: range by range of its key, each a sync and a commit of its own, and then the sync that reads what came meanwhile.

Each range is read from a snapshot of its own, and its commit says how far the load has come: a run that dies goes on there, and between two
ranges any other run may have the table. A run begins no further range once its time is over, so that the other tables of its source, which
wait for it, are brought up to date; the next sync goes on.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial

from incremental_assets.core.captures.database.loading import is_large, loading_of, rows_of_range
from incremental_assets.core.model.guarantee import Guarantee
from incremental_assets.core.model.key_range import KeyRange
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.observing.occurrences import LoadWentOn
from incremental_assets.core.planning.plan import Request
from incremental_assets.core.planning.report import Status, SyncReport
from incremental_assets.core.ports import Ports
from incremental_assets.core.syncing.filling import sync_and_fill
from incremental_assets.core.syncing.retry_once import retry_once
from incremental_assets.core.syncing.several_windows import summed
from incremental_assets.core.syncing.sync import sync_table

PATIENCE = timedelta(minutes=5)
"""How long after its begin a run begins another range."""


def load_and_sync(spec: TableSpec, request: Request, ports: Ports) -> SyncReport:
    """`sync_and_fill`, and before it what is left of a first load that goes range by range. Raises the errors of a sync; what had landed stays landed."""
    if not is_large(spec):
        return sync_and_fill(spec, request, ports)
    done, until = list[SyncReport](), time.monotonic() + PATIENCE.total_seconds()
    for report, progress in _parts(spec, request, ports):
        done.append(report)
        if progress is not None and time.monotonic() > until:
            return _so_far(done, progress)
    return together([*done, sync_and_fill(spec, request, ports)])


def _parts(spec: TableSpec, request: Request, ports: Ports) -> Iterator[tuple[SyncReport, LoadWentOn | None]]:
    """Each part as it lands, and how far the load has come; None for the last one. What no ranges are found for is left to the sync itself."""
    begun, read, state = time.monotonic(), 0, ports.checkpoints.position(spec.id).state
    while ranges := _next(spec, request, state, ports):
        of_part = replace(request, ranges=ranges)
        report = retry_once(partial(sync_table, spec, of_part, ports), spec.id, ports, request.run_id)
        read, state = read + report.rows.read, ports.checkpoints.position(spec.id).state
        progress = _progress(spec, request, state, read, time.monotonic() - begun)
        if progress is not None:
            ports.observer.notify(progress)
        yield report, progress


def _progress(spec: TableSpec, request: Request, state: State | None, read: int, seconds: float) -> LoadWentOn | None:
    """How far a load has come, of which this run has read so many rows in so many seconds; None once it has ended."""
    loading = loading_of(state)
    if loading is None:
        return None
    # Of some rows of a table nobody has said how many there are.
    left = 0 if spec.where is not None or spec.start is not None else spec.shape.rows - loading.rows
    to_go = seconds * left / read if left > 0 and read > 0 else None
    return LoadWentOn(spec.id, request.run_id, loading.rows, spec.shape.rows, to_go)


def _next(spec: TableSpec, request: Request, state: State | None, ports: Ports) -> tuple[KeyRange, ...]:
    """The next ranges; none where the sync itself reads the table, or the rest of it."""
    rows, loading = rows_of_range(spec, request, state), loading_of(state)
    if rows is None:
        return ()
    after = loading.after if loading else None
    found = retry_once(lambda: ports.source_rows(spec).key_ranges(spec, after, rows), spec.id, ports, request.run_id)
    return () if found is None or found == (KeyRange(),) else found


def _so_far(done: list[SyncReport], progress: LoadWentOn) -> SyncReport:
    """The report of a run that leaves the rest to the next one: nothing can be said yet of the table as a whole."""
    why, whole = f"{progress.said}; the next sync goes on", together(done)
    return replace(
        whole,
        guarantee=Guarantee.BEST_EFFORT,
        guarantee_reason=why,
        unfinished=why,
        warnings=(*whole.warnings, why),
    )


def together(done: Sequence[SyncReport]) -> SyncReport:
    """One report of all: the last one's promise, which holds for the whole. How far an earlier one had come is over."""
    if len(done) == 1:
        return done[0]
    warnings, over = [each for report in done for each in report.warnings], {report.unfinished for report in done[:-1]}
    return replace(
        summed(done),
        status=Status.LANDED,
        reason="",
        previous_watermark=None,
        seq=max((each.seq for each in done if each.seq is not None), default=None),
        target_version=max((each.target_version for each in done if each.target_version is not None), default=None),
        by_spark=next((each.by_spark for each in done if each.by_spark), ""),
        schema_changes=tuple(change for each in done for change in each.schema_changes),
        warnings=tuple(dict.fromkeys(each for each in warnings if each not in over)),
    )
