"""Several tables at once: the biggest first, each report as it lands, and no failure stops the others."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from typing import TypeVar

from incremental_assets.core.concurrency.background import in_lanes
from incremental_assets.core.concurrency.cohort import Cohort
from incremental_assets.core.concurrency.interruption import this_process
from incremental_assets.core.errors import IncrementalAssetsError
from incremental_assets.core.model.observe_request import ObserveRequest
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.observing.occurrences import SyncEnded
from incremental_assets.core.planning.events import Checkpoint
from incremental_assets.core.planning.plan import Request
from incremental_assets.core.planning.report import SyncReport
from incremental_assets.core.ports import Ports
from incremental_assets.core.syncing.attempt import or_failed
from incremental_assets.core.syncing.cached_probe import CachedProbe
from incremental_assets.core.syncing.loading import load_and_sync
from incremental_assets.core.syncing.looking import observe
from incremental_assets.core.syncing.registering import Known, known, registered

RequestFor = Callable[[TableSpec], Request]
Report = TypeVar("Report")

_SMALL = 16 * 2**20
_SMALL_FOR_ONE = 16
"""Tables of fewer than _SMALL bytes wait for jobs more than they work, and share snapshot, job and transaction: so many of them run in the place of one."""
_WORTH_A_LOOK = 2
"""Tables, from which on one look at all of them is less work."""


def sync_many(
    specs: Sequence[TableSpec], request_for: RequestFor, ports: Ports, parallel: int
) -> tuple[SyncReport, ...]:
    """Sync every table, `parallel` at a time, of small ones more. The observer hears each report as it lands; they come back in the order of `specs`."""
    with listening(as_they_land(specs, request_for, ports, parallel)) as landing:
        reports = {report.table: report for report in landing}
    return tuple(reports[spec.id] for spec in specs)


def as_they_land(
    specs: Sequence[TableSpec], request_for: RequestFor, ports: Ports, parallel: int
) -> Generator[SyncReport]:
    """One report per table, in the order in which they finish. If the caller stops iterating, running syncs finish and no other begins."""
    # A big table that begins last would run alone at the end.
    ordered = sorted(specs, key=lambda spec: spec.shape.bytes, reverse=True)
    small = [spec for spec in ordered if parallel > 1 and spec.shape.bytes < _SMALL]
    large, many = ordered[: len(ordered) - len(small)], parallel * _SMALL_FOR_ONE
    at_once = [*large[:parallel], *small[:many]]
    seen = _looked(at_once, ports, request_for(at_once[0]).run_id) if at_once else ports
    there = {spec.id for spec in at_once}
    # Of all tables, as it is one query.
    remembered = known(ports) if any(spec.register for spec in specs) else None

    def begun(spec: TableSpec) -> Callable[[], SyncReport]:
        return partial(attempt, spec, request_for(spec), seen if spec.id in there else ports, remembered)

    # Not in a pool: an interrupted process would wait for its threads.
    run, lanes = Cohort(), [(large, parallel), (small, many)]
    members = [(map(run.lane(len(each), at).member, map(begun, each)), at) for each, at in lanes]
    yield from in_lanes(members, this_process.see_out)


def _looked(specs: Sequence[TableSpec], ports: Ports, run_id: str) -> Ports:
    """The ports with the answers of one look at all of these tables. Where it fails, and for a table that it says too little of, each sync looks itself."""
    if len(specs) < _WORTH_A_LOOK or isinstance(ports.probe, CachedProbe):
        return ports
    try:
        positions = ports.checkpoints.positions()
        looks = [ObserveRequest(spec, positions.get(spec.id, Checkpoint()).state) for spec in specs]
        observed = list(zip(looks, observe(ports.probe, looks, ports.observer, run_id), strict=True))
    except IncrementalAssetsError:
        return ports
    answered = [(look, seen) for look, seen in observed if seen.suffices]
    return replace(
        ports, probe=CachedProbe(ports.probe, [look for look, _ in answered], [seen for _, seen in answered])
    )


@contextmanager
def listening(reports: Generator[Report]) -> Iterator[Iterator[Report]]:
    """Listen to the reports until the end of the block. If the run is interrupted meanwhile, running syncs are cancelled."""
    with closing(reports):
        try:
            yield reports
        except BaseException as error:
            if not isinstance(error, Exception):
                this_process.ask()
                try:
                    reports.close()
                finally:
                    # Else this process would refuse whatever comes after.
                    this_process.go_on()
            raise


def attempt(spec: TableSpec, request: Request, ports: Ports, remembered: Known | None = None) -> SyncReport:
    """`load_and_sync`, always with a report. `remembered`: of data catalogues, where it was asked for already."""
    report = or_failed(lambda: load_and_sync(spec, request, ports), spec, request, ports)
    report = registered(spec, report, ports, remembered)
    ports.observer.notify(SyncEnded(report))
    return report
