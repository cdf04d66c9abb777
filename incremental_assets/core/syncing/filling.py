"""The values of a column that came later, for the rows that had landed before it: key, cursor and that column are read, a range of the cursor at a time.

Each range is a commit of its own under a lease of its own, and its state says how far the ranges have come: a run that dies goes on there,
and between two ranges any other run may have the table. A range puts values into rows that hold the same cursor as the source does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

from incremental_assets.core.captures.database.fill_ranges import MOST_ROWS, ranges, slices
from incremental_assets.core.errors import IncrementalAssetsError, Interrupted, sentence_of
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.window import Window
from incremental_assets.core.planning.plan import Mode, Request
from incremental_assets.core.planning.report import Status, SyncReport
from incremental_assets.core.ports import Ports
from incremental_assets.core.syncing.retry_once import retry_once
from incremental_assets.core.syncing.several_windows import summed
from incremental_assets.core.syncing.sync import sync_table
from incremental_assets.core.words import counted


def sync_and_fill(spec: TableSpec, request: Request, ports: Ports) -> SyncReport:
    """`sync_table`, and then a bounded part of what is left to be read of new columns. Raises the errors of a sync."""
    report = sync_table(spec, request, ports)
    if not report.unfilled or request.mode is not Mode.SYNC or not spec.fills or report.next_look is not None:
        return report
    done, left = list[SyncReport](), report.unfilled
    try:
        for each in _filled(spec, request, ports):
            left = each.unfilled
            done += [each] if each.status is Status.LANDED else []
    except IncrementalAssetsError as error:
        whole = _together(report, done, left)
        if whole.status is not Status.LANDED or isinstance(error, Interrupted):
            raise
        # What has landed has landed, and the next sync goes on.
        warning = f"the values of new columns could not be read for all rows that landed before: {sentence_of(spec.id, error)}"
        return replace(whole, warnings=(*whole.warnings, warning))
    return _together(report, done, left)


def _filled(spec: TableSpec, request: Request, ports: Ports) -> Iterator[SyncReport]:
    """Each range, also one that is idle: another run has read it, or an attempt that lost its engine after the commit."""
    state = ports.checkpoints.position(spec.id).state
    windows = retry_once(partial(_windows, spec, state, ports), spec.id, ports, request.run_id) if state else ()
    for window in windows:
        of_range = replace(request, mode=Mode.FILL, window=window)
        yield retry_once(partial(sync_table, spec, of_range, ports), spec.id, ports, request.run_id)


def _windows(spec: TableSpec, state: State, ports: Ports) -> tuple[Window, ...]:
    """One where the copy is small; else by the rows that the copy holds."""
    left, highest = state.unfilled, state.position.max_cursor_read
    if left is None:
        return ()
    if (ports.reader.rows(spec) or 0) <= MOST_ROWS:
        return (left.window,)
    (lowest,) = ports.source_rows(spec).lowest([spec])
    if lowest is None or highest is None:
        return (left.window,)
    pieces = slices(left.window, lowest, highest)
    return ranges(pieces, ports.auditor.count(spec, pieces))


def _together(synced: SyncReport, done: Sequence[SyncReport], left: tuple[str, ...]) -> SyncReport:
    """One report of both: what the sync itself reported, and what was filled; `left`: columns that still are to be."""
    if not done:
        return replace(synced, unfilled=left)
    whole, last = summed((synced, *done)), done[-1]
    warnings = (*synced.warnings, *(warning for each in done for warning in each.warnings))
    return replace(
        synced,
        status=Status.LANDED,
        reason="",
        seq=last.seq,
        rows=whole.rows,
        target_version=last.target_version,
        history=whole.history,
        schema_changes=(*synced.schema_changes, *(change for each in done for change in each.schema_changes)),
        unfilled=left,
        seconds=whole.seconds,
        warnings=(*dict.fromkeys(warnings), *_filled_sentence(synced.unfilled, done, left)),
    )


def _filled_sentence(columns: Sequence[str], done: Sequence[SyncReport], left: tuple[str, ...]) -> tuple[str, ...]:
    """None where the sync itself had read every row again, so that nothing was left to be read."""
    read, written = (sum(getattr(each.rows, name) for each in done) for name in ("read", "updated"))
    last = done[-1].window
    goes_on = f"; the next sync goes on from {last.upper}" if left and last else "; none are left"
    if not read and not left:
        return ()
    came = f"new columns ({', '.join(columns)}) came with values for rows that had landed before"
    return (f"{came}: read for {counted(read, 'row')} and written to {written:,}{goes_on}",)
