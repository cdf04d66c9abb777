"""Repair the drift that a check has found: compare its windows by key, read what differs again in one sync, and check these windows again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from incremental_assets.core.captures.registry import capture_of
from incremental_assets.core.checks.drift import Drift
from incremental_assets.core.checks.look import Look, look
from incremental_assets.core.checks.reconcile import reconcile, settled_windows
from incremental_assets.core.checks.remember import remember, remember_windows
from incremental_assets.core.differences.differing import differing_now
from incremental_assets.core.errors import SelectionError
from incremental_assets.core.model.cures import check, full_refresh
from incremental_assets.core.model.partition import Grid
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.window import Window, merge
from incremental_assets.core.observing.occurrences import SyncEnded
from incremental_assets.core.planning.plan import Mode, Request
from incremental_assets.core.planning.preflight import check_terms
from incremental_assets.core.planning.report import RowCounts, Status, SyncReport
from incremental_assets.core.ports import Ports
from incremental_assets.core.syncing.attempt import or_failed
from incremental_assets.core.syncing.sync import sync_table
from incremental_assets.core.words import counted


@dataclass(frozen=True, slots=True)
class Repaired:
    """What a repair did, and the drift of its windows after it; None where none was known, or the repair failed."""

    report: SyncReport
    left: Drift | None = None
    windows: tuple[Window, ...] = ()
    """Those that were compared."""


def repair_table(
    spec: TableSpec, grid: Grid | None, run_id: str, ports: Ports, just_seen: Look | None = None
) -> Repaired:
    """Repair what the last checks of a table have found. Raises SelectionError, TermsChanged, and the errors of a sync.

    `just_seen`: by the check that this one follows at once; where the copy is still at that version, no row is looked for that it has not found.
    """
    by_log = repairs_by_log(spec)
    if spec.read_by is None and not by_log:
        raise SelectionError(
            f"{spec.id}: this table is {capture_of(spec).words} and has no windows to repair; read it again with {full_refresh(spec)}"
        )
    # What was found to drift lies in windows of the cursor that it landed by.
    check_terms(spec, ports.checkpoints.position(spec.id).state)
    known = ports.checkpoints.verified().get(spec.id)
    if known is None:
        return _nothing(spec, run_id, f"it was never checked: run {check(spec.id)}")
    if by_log and known.drifted:
        return _beside_the_log(spec, grid, run_id, ports)
    windows = _settled(spec, grid, [piece.window for piece in known.drifted], ports) if known.drifted else ()
    if not windows:
        return _nothing(spec, run_id, "no check has found drift that is still there")
    before = just_seen if just_seen and just_seen.is_of(ports.reader.last_commit(spec)) else None
    if before is None and spec.traits.one_row_per_key:
        before = look(spec.without_masked, windows, ports)
    windows = before.over if before else windows
    report = _repaired(spec, run_id, merge(windows), before, ports)
    last = ports.reader.last_commit(spec)
    alone = (
        before
        and before.version is not None
        and last is not None
        and last.version == before.version + (report.status is Status.LANDED)
    )
    left = reconcile(spec, grid, ports, windows, before if alone else None)
    remember_windows(spec, left, ports.checkpoints)
    return Repaired(report, left, merge(windows))


def repairs_by_log(spec: TableSpec) -> bool:
    """Whether rows that differ are read again beside the log, and which have changed behind the copy's position are left to it."""
    return capture_of(spec).tells_changes and spec.traits.one_row_per_key


def _beside_the_log(spec: TableSpec, grid: Grid | None, run_id: str, ports: Ports) -> Repaired:
    """What differs is looked for by the sync itself, in the snapshot that it reads."""
    if not reconcile(spec, grid, ports).rows:
        return _nothing(spec, run_id, "nothing differs any more")
    report = sync_table(spec, Request(run_id, Mode.REPAIR), ports)
    left = reconcile(spec, grid, ports)
    remember(spec, left, ports.checkpoints)
    return Repaired(report, left)


def attempt_repair(spec: TableSpec, grid: Grid | None, run_id: str, ports: Ports) -> Repaired:
    """`repair_table`, always with a report."""
    request = Request(run_id, Mode.REPAIR)
    done = or_failed(lambda: repair_table(spec, grid, run_id, ports), spec, request, ports)
    repaired = Repaired(done) if isinstance(done, SyncReport) else done
    ports.observer.notify(SyncEnded(repaired.report))
    return repaired


def in_words(rows: RowCounts) -> str:
    """What was changed, in words."""
    return f"{counted(rows.updated, 'row')} repaired, {rows.inserted:,} added, {rows.deleted:,} deleted"


def _settled(spec: TableSpec, grid: Grid | None, drifted: Sequence[Window], ports: Ports) -> tuple[Window, ...]:
    """The drifted windows as far as they have settled; none where they are of a cursor of another type than the table's."""
    state = ports.checkpoints.position(spec.id).state
    ends = [end for window in drifted for end in (window.lower, window.upper) if end is not None]
    if state is None or any(end.type is not spec.cursor_type for end in ends):
        return ()
    return settled_windows(spec, grid, state, drifted)


def _repaired(spec: TableSpec, run_id: str, windows: Sequence[Window], seen: Look | None, ports: Ports) -> SyncReport:
    """One sync of the rows that differ, or of all rows of the windows where these are not named. `seen`: None of a copy that keeps versions."""
    found = seen.found if seen else differing_now(spec.without_masked, windows, ports)
    if seen is not None and not seen.windows:
        return _nothing(spec, run_id, "nothing differs any more").report
    if found is not None and not found.places.numbers and not (found.extra and spec.deletes.compares):
        return _nothing(spec, run_id, "nothing differs any more").report
    whole = Window(windows[0].lower, windows[-1].upper)
    request = Request(run_id, Mode.REPAIR, whole, places=found.places if found else None)
    return sync_table(spec, request, ports)


def _nothing(spec: TableSpec, run_id: str, reason: str) -> Repaired:
    request = Request(run_id, Mode.REPAIR)
    return Repaired(replace(SyncReport.of(spec, request, Status.IDLE), reason=reason))
