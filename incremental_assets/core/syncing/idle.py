"""Tables that stand still: recorded all at once, by a sync of them as by a look.

A look keeps only what is news, which the capture knows.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from incremental_assets.core.concurrency.interruption import this_process
from incremental_assets.core.errors import IncrementalAssetsError
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.observing.occurrences import SyncEnded
from incremental_assets.core.planning.events import Checkpoint, Event, EventKind, Unmoved
from incremental_assets.core.planning.plan import NothingToDo, Request
from incremental_assets.core.planning.report import Status, SyncReport
from incremental_assets.core.ports import Checkpoints, Lease, Ports
from incremental_assets.core.syncing.following import behind
from incremental_assets.core.syncing.foreign_changes import stands
from incremental_assets.core.syncing.phases import Phases
from incremental_assets.core.syncing.registering import known, registered


@dataclass(frozen=True, slots=True)
class IdleTable:
    """One such table: where it stood when it was looked at, and what the look came to."""

    spec: TableSpec
    position: Checkpoint
    found: NothingToDo
    is_news: bool

    def report(self, request: Request) -> SyncReport:
        """The report of an idle sync with this finding."""
        return SyncReport.idle(self.spec, request, self.found)

    def unmoved(self, report: SyncReport) -> Unmoved:
        """The table as unmoved, with the event of that sync: another state, or that it is well again where its last sync failed; else without one."""
        table, state, last = self.spec.id, self.found.state, self.position.last_report
        is_known = state is None and (last is None or last.status in (Status.LANDED, Status.IDLE))
        event = None if is_known else Event(table, EventKind.IDLE, report.run_id, state=state, report=report)
        return Unmoved(table, self.position, event)


def keep(tables: Iterable[IdleTable], checkpoints: Checkpoints) -> None:
    """Record the news as idle syncs would. A table that another run holds or has changed since is left to the next look, as all are if this fails."""
    request = Request(str(uuid.uuid4()))
    news = [each.unmoved(each.report(request)) for each in tables if each.is_news and each.position.open is None]
    if news:
        with suppress(IncrementalAssetsError):
            checkpoints.record_idle(news)


def finish(tables: Sequence[IdleTable], request: Request, ports: Ports) -> tuple[SyncReport, ...]:
    """Syncs of tables that were just seen to stand still, in one transaction; none once this process is interrupted. The observer hears each report.

    Left out are those of which that look does not tell enough: a copy whose log went on, a table that has moved on since, one without a
    state, with a history that has still to follow, or of which either cannot be read. They need a sync of their own.
    """
    if this_process.asked:
        return ()
    reports = {each.spec.id: each.report(request) for each in tables if _is_enough(each, ports)}
    unmoved = [each.unmoved(reports[each.spec.id]) for each in tables if each.spec.id in reports]
    others = ports.checkpoints.record_idle(unmoved) if unmoved else {}
    specs = {each.spec.id: each.spec for each in tables}
    for table, busy in others.items():
        if busy is None:
            del reports[table]
        else:
            reports[table] = SyncReport.failed(specs[table], request, busy)
    reports = _made_known(specs, reports, ports)
    for report in reports.values():
        ports.observer.notify(SyncEnded(report))
    return tuple(reports.values())


def _made_known(
    specs: Mapping[TableId, TableSpec], reports: dict[TableId, SyncReport], ports: Ports
) -> dict[TableId, SyncReport]:
    """What could not be made known to a catalogue before is tried again; of what was, nothing is asked."""
    if not any(specs[table].register for table in reports):
        return reports
    remembered = known(ports)
    return {table: registered(specs[table], report, ports, remembered) for table, report in reports.items()}


def _is_enough(table: IdleTable, ports: Ports) -> bool:
    """Whether the look is enough; False where the copy's log or its history cannot be read, as the table's own sync then says why."""
    if table.position.state is None:
        return False
    try:
        return stands(table.spec, table.position, ports.reader) and behind(table.spec, ports.historian) is None
    except IncrementalAssetsError:
        return False


def finish_under_lease(table: IdleTable, request: Request, lease: Lease, phases: Phases) -> SyncReport:
    """What a sync of one such table records, under its lease."""
    report = phases.timed(table.report(request))
    event = table.unmoved(report).event
    if event is not None:
        lease.record(event)
    phases.enter("landed")
    return report
