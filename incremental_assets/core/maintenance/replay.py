"""Read again what a contract holds, from the source as it is now: rows that pass land, and are held no more.

Each row is found by the cursor that it had: one whose cursor has moved since is the next sync's to read. What is read again lands as a
backfill does, so that nothing lands twice and no newer row is taken back.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise

from incremental_assets.core.differences.vanished import settle_vanished
from incremental_assets.core.errors import SelectionError
from incremental_assets.core.model.cures import replay
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.quarantine import HeldRows, Resolution
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.window import Window
from incremental_assets.core.planning.plan import Mode, Request
from incremental_assets.core.planning.report import Status, SyncReport
from incremental_assets.core.ports import Ports
from incremental_assets.core.syncing.sync_many import attempt

MOST_WINDOWS = 20
"""The most windows of one replay, each a read and a commit: of more, neighbours are read together."""


def replay_table(spec: TableSpec, run_id: str, ports: Ports) -> Iterator[SyncReport]:
    """One report per window that is read again, as they land; after a failure no other is read.

    Raises SelectionError for a table without a contract, unless one that it no longer has left rows behind.
    """
    known = ports.quarantine.held(spec)
    if known is not None and not known.rows:
        if spec.contract is None:
            raise SelectionError(f"{spec.id}: there is nothing to replay, as the table has no `contract`")
        return
    _settle_gone(spec, run_id, ports)
    held = ports.quarantine.held_cursors(spec)
    if held is None:
        return
    for request in requests(spec, run_id, held):
        report = attempt(spec, request, ports)
        yield report
        if report.status not in (Status.LANDED, Status.IDLE):
            return


def left_behind(spec: TableSpec, held: HeldRows | None) -> str:
    """What to say of rows that a contract holds which the table no longer has; empty where there are none."""
    if spec.contract is not None or held is None or not held.rows:
        return ""
    return f"{held.sentence}; the contract is no longer configured: {replay(spec.id)} reads again what it holds"


def requests(spec: TableSpec, run_id: str, held: Sequence[CursorValue]) -> tuple[Request, ...]:
    """What is read again for rows with these cursors; a table without a cursor is compared, or read whole."""
    request = Request(run_id, Mode.REPLAY, resolves=Resolution.REPLAYED)
    if spec.read_by is None:
        return (request,)
    return tuple(replace(request, window=window) for window in windows_of(held))


def windows_of(values: Sequence[CursorValue], most: int = MOST_WINDOWS) -> tuple[Window, ...]:
    """At most `most` windows that hold these values, ascending; the widest gaps between values are left out."""
    ordered = sorted(set(values))
    if not ordered:
        return ()
    # The widest gaps are left out; a value that Python cannot count with is as far from others as can be.
    gaps = sorted(range(1, len(ordered)), key=lambda place: _gap(ordered[place - 1], ordered[place]), reverse=True)
    ends = [0, *sorted(gaps[: most - 1]), len(ordered)]
    return tuple(Window(ordered[first], _after(ordered[end - 1])) for first, end in pairwise(ends))


def _gap(one: CursorValue, other: CursorValue) -> float:
    try:
        if one.type is CursorType.INTEGER:
            return float(int(other.text) - int(one.text))
        return (other.moment() - one.moment()).total_seconds()
    except (ValueError, OverflowError):
        return float("inf")


def _after(value: CursorValue) -> CursorValue | None:
    """The next value; None where there is none that Python has."""
    if value.type is CursorType.INTEGER:
        return CursorValue.of(value.type, int(value.text) + 1)
    step = timedelta(days=1) if value.type is CursorType.DATE else timedelta(microseconds=1)
    try:
        return CursorValue.of(value.type, value.moment() + step)
    except (ValueError, OverflowError):
        return None


def _settle_gone(spec: TableSpec, run_id: str, ports: Ports) -> None:
    """A row that the source has no more waits for nothing; one that tells only what comes says so itself when it is read again."""
    rows = ports.probe.rows
    if not spec.key or rows is None:
        return
    with ports.checkpoints.lease(spec.id, run_id), rows.keys(spec) as source:
        settle_vanished(spec, source, ports)
