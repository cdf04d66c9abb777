"""A first load of a large table: range by range of its key, each a sync and a commit of its own, and then the sync that reads what came meanwhile.

Each range is read from a snapshot of its own, and its commit says how far the load has come: a run that dies goes on there, and between two
ranges any other run may have the table. A run begins no further range once its time is over, so that the other tables of its source, which
wait for it, are brought up to date; the next sync goes on.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from functools import partial

from incremental_assets.core.captures.database.loading import WORTH_IT, loading_of, rows_of_range
from incremental_assets.core.model.guarantee import Guarantee
from incremental_assets.core.model.key_range import KeyRange
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
    if spec.shape.bytes < WORTH_IT:
        return sync_and_fill(spec, request, ports)
    done, went_on, until = list[SyncReport](), None, time.monotonic() + PATIENCE.total_seconds()
    for each, progress in _parts(spec, request, ports):
        done, went_on = [*done, each], progress
        if went_on is None or time.monotonic() > until:
            break
    if went_on is not None:
        return _so_far(done, went_on)
    return _together([*done, sync_and_fill(spec, request, ports)])


def _parts(spec: TableSpec, request: Request, ports: Ports) -> Iterator[tuple[SyncReport, LoadWentOn | None]]:
    """Each part as it lands, and how far the load has come; None once it has ended."""
    begun, read = time.monotonic(), 0
    while ranges := _next(spec, request, ports):
        of_part = replace(request, ranges=ranges)
        report = retry_once(partial(sync_table, spec, of_part, ports), spec.id, ports, request.run_id)
        read += report.rows.read
        loading = loading_of(ports.checkpoints.position(spec.id).state)
        if loading is None:
            yield report, None
            return
        left = spec.shape.rows - loading.rows
        seconds = (time.monotonic() - begun) * left / read if left > 0 and read > 0 else None
        progress = LoadWentOn(spec.id, request.run_id, loading.rows, spec.shape.rows, seconds)
        ports.observer.notify(progress)
        yield report, progress


def _next(spec: TableSpec, request: Request, ports: Ports) -> tuple[KeyRange, ...]:
    """The next ranges; none where the sync itself reads the table, or the rest of it."""
    state = ports.checkpoints.position(spec.id).state
    rows = rows_of_range(spec, request, state)
    if rows is None:
        return ()
    loading = loading_of(state)
    after = loading.after if loading else None
    found = retry_once(lambda: ports.source_rows(spec).key_ranges(spec, after, rows), spec.id, ports, request.run_id)
    is_all = found is not None and found[0] == KeyRange()
    return () if found is None or is_all else found


def _so_far(done: list[SyncReport], progress: LoadWentOn) -> SyncReport:
    """The report of a run that leaves the rest to the next one: nothing can be said yet of the table as a whole."""
    why, whole = f"{progress.said}; the next sync goes on", _together(done)
    return replace(
        whole,
        guarantee=Guarantee.BEST_EFFORT,
        guarantee_reason=why,
        unfinished=why,
        warnings=(*whole.warnings, why),
    )


def _together(done: list[SyncReport]) -> SyncReport:
    """One report of all: the last one's promise, which holds for the whole."""
    if len(done) == 1:
        return done[0]
    whole = summed(done)
    return replace(
        whole,
        status=Status.LANDED,
        reason="",
        previous_watermark=None,
        seq=max((each.seq for each in done if each.seq is not None), default=None),
        target_version=max((each.target_version for each in done if each.target_version is not None), default=None),
        by_spark=next((each.by_spark for each in done if each.by_spark), ""),
        schema_changes=tuple(change for each in done for change in each.schema_changes),
        warnings=tuple(dict.fromkeys(warning for each in done for warning in each.warnings)),
    )
