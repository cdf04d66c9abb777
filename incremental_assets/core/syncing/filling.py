"""The values of a column that came later, for the rows that had landed before it: key, cursor and that column are read, a range of the cursor at a time.

Each range is a commit of its own under a lease of its own, and its state says how far the ranges have come: a run that dies goes on there,
and between two ranges any other run may have the table. A range puts values into rows that hold the same cursor as the source does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import astuple, replace

from incremental_assets.core.errors import IncrementalAssetsError, sentence_of
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.unfilled import Unfilled
from incremental_assets.core.model.window import Window
from incremental_assets.core.planning.fill_ranges import MOST_ROWS, ranges, slices
from incremental_assets.core.planning.plan import Mode, Request
from incremental_assets.core.planning.report import RowCounts, Status, SyncReport
from incremental_assets.core.ports import Ports
from incremental_assets.core.syncing import following
from incremental_assets.core.syncing.sync import sync_table
from incremental_assets.core.words import counted


def sync_and_fill(spec: TableSpec, request: Request, ports: Ports) -> SyncReport:
    """`sync_table`, and then a bounded part of what is left to be read of new columns. Raises the errors of a sync."""
    report = sync_table(spec, request, ports)
    if not report.unfilled or request.mode is not Mode.SYNC or not spec.fills:
        return report
    done: list[SyncReport] = []
    try:
        done.extend(_filled(spec, request, ports))
    except IncrementalAssetsError as error:
        if report.status is not Status.LANDED:
            raise
        # What has landed has landed, and the next sync goes on.
        told = f"the values of new columns could not be read for all rows that landed before: {sentence_of(spec.id, error)}"
        return replace(report, warnings=(*report.warnings, told))
    return _together(report, done) if done else report


def _filled(spec: TableSpec, request: Request, ports: Ports) -> Iterator[SyncReport]:
    state = ports.checkpoints.position(spec.id).state
    left = state.unfilled if state else None
    for window in _windows(spec, left, ports) if left else ():
        report = sync_table(spec, replace(request, mode=Mode.FILL, window=window), ports)
        if report.status is not Status.LANDED:
            return
        yield report


def _windows(spec: TableSpec, left: Unfilled, ports: Ports) -> tuple[Window, ...]:
    """One where the copy is small; else by the rows that the copy holds."""
    if (ports.reader.rows(spec) or 0) <= MOST_ROWS:
        return (left.window,)
    state = ports.checkpoints.position(spec.id).state
    highest = state.position.max_cursor_read if state else None
    (lowest,) = ports.probe.lowest([spec])
    if lowest is None or highest is None:
        return (left.window,)
    pieces = slices(left.window, lowest, highest)
    return ranges(pieces, ports.auditor.count(spec, pieces))


def _together(synced: SyncReport, done: list[SyncReport]) -> SyncReport:
    """One report: what the sync itself said, and what was filled."""
    every, last = (synced, *done), done[-1]
    rows = RowCounts(*(sum(values) for values in zip(*(astuple(each.rows) for each in every), strict=True)))
    history = synced.history
    for each in done:
        history = following.together(history, each.history)
    return replace(
        synced,
        status=Status.LANDED,
        reason="",
        seq=last.seq,
        rows=rows,
        target_version=last.target_version,
        history=history,
        schema_changes=(*synced.schema_changes, *(change for each in done for change in each.schema_changes)),
        unfilled=last.unfilled,
        seconds=sum(each.seconds for each in every),
        warnings=(*synced.warnings, _told(synced.unfilled, done)),
    )


def _told(columns: tuple[str, ...], done: list[SyncReport]) -> str:
    read, written = (sum(getattr(each.rows, name) for each in done) for name in ("read", "updated"))
    last = done[-1].window
    goes_on = f"; the next sync goes on from {last.upper}" if done[-1].unfilled and last else "; none are left"
    return (
        f"new columns ({', '.join(columns)}) came with values for rows that had landed before: "
        f"read for {counted(read, 'row')} and written to {written:,}{goes_on}"
    )
