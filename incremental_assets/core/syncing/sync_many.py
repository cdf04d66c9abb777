"""Several tables at once: the biggest first, each report as it lands, and no failure stops the others."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial

from incremental_assets.core.background import as_they_end
from incremental_assets.core.errors import IncrementalAssetsError
from incremental_assets.core.interruption import this_process
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.planning.plan import Request
from incremental_assets.core.planning.report import SyncReport
from incremental_assets.core.ports import Ports
from incremental_assets.core.syncing.retry_once import retry_once
from incremental_assets.core.syncing.sync import sync_table

_log = logging.getLogger(__name__)

RequestFor = Callable[[TableSpec], Request]


def sync_many(
    specs: Sequence[TableSpec], request_for: RequestFor, ports: Ports, parallel: int
) -> tuple[SyncReport, ...]:
    """Sync every table, `parallel` at a time. The observer gets each report as it lands; they are returned in the order of `specs`."""
    with listening(as_they_land(specs, request_for, ports, parallel)) as landing:
        reports = {report.table: report for report in landing}
    return tuple(reports[spec.id] for spec in specs)


def as_they_land(
    specs: Sequence[TableSpec], request_for: RequestFor, ports: Ports, parallel: int
) -> Generator[SyncReport]:
    """One report per table, in the order in which they finish. If the caller stops iterating, running syncs finish and no other begins."""
    # A big table that begins last would run alone at the end.
    ordered = sorted(specs, key=lambda spec: spec.shape.bytes, reverse=True)
    # Not in a pool: an interrupted process would wait for its threads.
    yield from as_they_end(
        [partial(attempt, spec, request_for(spec), ports) for spec in ordered], parallel, this_process.see_out
    )


@contextmanager
def listening(reports: Generator[SyncReport]) -> Iterator[Iterator[SyncReport]]:
    """Until the end of the block. If the run is interrupted meanwhile, running syncs are cancelled."""
    with closing(reports):
        try:
            yield reports
        except Exception:
            raise
        except BaseException:
            this_process.ask()
            reports.close()
            this_process.go_on()
            raise


def attempt(spec: TableSpec, request: Request, ports: Ports) -> SyncReport:
    """`sync_table`, always with a report: an unexpected error is one sentence there, and its traceback is in the log."""
    begun = time.monotonic()
    try:
        report = retry_once(lambda: sync_table(spec, request, ports), spec.id, ports.observer)
    except Exception as error:  # noqa: BLE001 - one failure must not stop the other tables
        if not isinstance(error, IncrementalAssetsError):
            _log.exception("%s: the sync failed with an unexpected error", spec.id)
        report = SyncReport.failed(spec, request, error, time.monotonic() - begun)
    ports.observer.on_report(report)
    return report
