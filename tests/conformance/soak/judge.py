"""Whether the copies tell the lives of the source: while it goes on, and at its end."""

from __future__ import annotations

from collections import Counter

from incremental_assets.core.model.cursor import CursorValue
from incremental_assets.core.planning.events import Event
from tests.conformance.soak.copy import ask
from tests.conformance.soak.hazards import SETTLED, WITHIN, Hazard
from tests.conformance.soak.result import Result, Told
from tests.conformance.stand import Stand

_PROMISES = (SETTLED, WITHIN)
"""Under these no row may be lost, strongest first."""


def look(desk: Stand, hazards: tuple[Hazard, ...], seen: dict[int, int], result: Result) -> None:
    """The copy of this moment: no step may be undone since the last look, none may be ahead of the source, no row there twice."""
    copy = ask(desk.shop.lake("lives"), "SELECT id, step FROM copy")
    truth = dict(desk.source("SELECT id, step FROM lives"))
    result.looks += 1
    for life, step in copy:
        if step < seen.get(life, 0):
            result.faults.append(f"life {life} went from step {seen[life]} back to {step}")
        if step > truth[life]:
            result.faults.append(f"life {life} is at step {step} and at {truth[life]} in the source")
        seen[life] = max(step, seen.get(life, 0))
    for hazard in hazards:
        for row, times in _doubled(desk, hazard):
            result.faults.append(f"{hazard.table}: {row} is there {times} times")


def judge(desk: Stand, hazard: Hazard, result: Result) -> None:
    """At the end: what is lost, and what the runs that passed it had said."""
    events = [
        event for event in desk.events(hazard.table) if event.report is not None and event.kind in ("landed", "idle")
    ]
    said = Counter(str(event.report.guarantee) for event in events if event.report is not None)
    told = result.tables[hazard.table] = Told(hazard.guarantee, runs=dict(said))
    truth = desk.source(f"SELECT {hazard.identity}, {hazard.stamp} FROM {hazard.table}")
    _count(events, result)
    copy = {row for (row,) in ask(desk.shop.lake(hazard.table), f"SELECT {hazard.identity} AS row FROM copy")}
    told.rows = len(truth)
    told.doubled = sum(times - 1 for _, times in _doubled(desk, hazard))
    for row, stamp in truth:
        if row not in copy:
            if _passed_as_settled(hazard, stamp, events):
                told.lost_settled += 1
                result.faults.append(f"{hazard.table}: {row}, stamped {stamp}, was lost under `settled`")
            else:
                told.lost_otherwise += 1
    ahead = copy - {row for row, _ in truth}
    result.faults += [f"{hazard.table}: {row} was never committed" for row in sorted(ahead)[:10]]
    for stronger in _PROMISES[: _PROMISES.index(hazard.guarantee)] if hazard.guarantee in _PROMISES else _PROMISES:
        if said[stronger]:
            result.faults.append(f"{hazard.table}: {said[stronger]} runs said `{stronger}`, which nothing proves")
    if hazard.guarantee in _PROMISES and not said[hazard.guarantee]:
        result.faults.append(f"{hazard.table}: no run said `{hazard.guarantee}`, so that nothing was shown")


def _doubled(desk: Stand, hazard: Hazard) -> list[tuple[str, int]]:
    by = hazard.key or hazard.identity
    query = f"SELECT {by} AS row, count(*) AS times FROM copy GROUP BY {by} HAVING count(*) > 1"
    return [(row, times) for row, times in ask(desk.shop.lake(hazard.table), query)]


def _passed_as_settled(hazard: Hazard, stamp: str, events: list[Event]) -> bool:
    """Whether a run that said `settled` moved the watermark over the stamp, or read there last: it promised that row."""
    value = CursorValue.parse(hazard.kind, stamp)
    reports = [event.report for event in events if event.report is not None]
    over = [
        report
        for report in reports
        if report.new_watermark is not None
        and value < report.new_watermark
        and (report.previous_watermark is None or report.previous_watermark <= value)
    ]
    # Above every watermark the last run read it, and had to land it.
    return any(str(report.guarantee) in _PROMISES for report in over or reports[-1:])


def _count(events: list[Event], result: Result) -> None:
    """What the checkpoint table tells of all those processes."""
    for event in events:
        if event.report is not None and event.kind == "landed":
            rows = event.report.rows
            result.syncs += 1
            result.rows_read += rows.read
            result.rows_read_twice += rows.unchanged
            result.rows_late += rows.late
