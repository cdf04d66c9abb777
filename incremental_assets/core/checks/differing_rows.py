"""Which rows of a table differ between copy and source, and in which values: what `check` counts, shown."""

from __future__ import annotations

from dataclasses import dataclass, replace

from incremental_assets.core.captures.registry import capture_of
from incremental_assets.core.checks.by_log import behind_of, unchanged_of
from incremental_assets.core.checks.look import Look, look
from incremental_assets.core.checks.reconcile import ONLY_TELLS, settled_windows
from incremental_assets.core.errors import SelectionError
from incremental_assets.core.model.change_columns import keeps_changes
from incremental_assets.core.model.cures import check, sync
from incremental_assets.core.model.partition import Grid
from incremental_assets.core.model.row_difference import RowDifference, without_pii
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.window import EVERYTHING, Window
from incremental_assets.core.planning.preflight import check_terms
from incremental_assets.core.ports import Behind, Ports


@dataclass(frozen=True, slots=True)
class DifferingRows:
    """The first rows that differ, without values that are declared `pii`."""

    spec: TableSpec
    rows: tuple[RowDifference, ...]
    compared: int
    """Rows of the source that were compared."""
    is_all: bool
    """Whether there are no more than these."""
    through: str | None
    """The cursor below which rows were compared, as later ones have not settled, or the place in the log up to which the copy has come; None where all rows were."""
    quarantined: int | None = None
    """Rows in quarantine, which are not compared; None where they could not be counted."""


def differing_rows(spec: TableSpec, grid: Grid | None, most: int, ports: Ports) -> DifferingRows:
    """The first `most` of them, but for masked columns. Raises SelectionError where nothing has landed or can be compared, TermsChanged, SourceRefused."""
    spec = spec.without_masked
    found = _differing(spec, grid, most, ports)
    waiting = ports.quarantine.held(spec), ports.quarantine.unfit(spec)
    counts = [each.rows for each in waiting if each is not None]
    return replace(found, quarantined=sum(counts) if len(counts) == len(waiting) else None)


def _differing(spec: TableSpec, grid: Grid | None, most: int, ports: Ports) -> DifferingRows:
    state = ports.checkpoints.position(spec.id).state
    if state is None:
        raise SelectionError(f"{spec.id}: nothing has landed yet that could be compared; run {sync(spec.id)} first")
    if ports.probe.rows is None:
        raise SelectionError(f"{spec.id}: {ONLY_TELLS}")
    if keeps_changes(spec):
        raise SelectionError(
            f"{spec.id}: the copy has every change of each row, and the source shows the last one alone, so that no two rows stand beside each other; "
            f"{check(spec.id)} compares what the changes come to, and names keys"
        )
    windows = _windows(spec, grid, state)
    if not windows:
        raise SelectionError(
            f"{spec.id}: nothing has settled yet that could be compared; `incremental-assets status` says what the watermark waits for"
        )
    behind = behind_of(spec, state, ports) if capture_of(spec).tells_changes else None
    seen = look(spec, windows, ports)
    if behind is not None and seen.windows:
        return replace(_beside_the_log(spec, seen, behind, most, ports), through=str(state.position))
    if not seen.windows:
        through = _through(windows) if behind is None else str(state.position)
        return DifferingRows(spec, (), seen.rows, is_all=True, through=through)
    places = seen.found.places if seen.found else None
    # One more tells that there are more.
    rows = ports.rows.differing_rows(spec, seen.windows, places, most + 1)
    shown = tuple(without_pii(spec, row) for row in rows[:most])
    return DifferingRows(spec, shown, seen.rows, is_all=len(rows) <= most, through=_through(windows))


def _beside_the_log(spec: TableSpec, seen: Look, behind: Behind, most: int, ports: Ports) -> DifferingRows:
    """Without the rows that have changed behind the position, also while the others were read."""
    if seen.found is None:
        raise SelectionError(
            f"{spec.id}: too many rows differ to tell which of them have just changed; run {sync(spec.id)}, and then `incremental-assets check`"
        )
    left = unchanged_of(spec, seen.found, behind, ports)
    rows: tuple[RowDifference, ...] = ()
    while left.places.numbers:
        rows = ports.rows.differing_rows(spec, seen.windows, left.places, most + 1)
        again = unchanged_of(spec, left, behind, ports)
        if again.places.numbers == left.places.numbers:
            break
        rows, left = (), again
    shown = tuple(without_pii(spec, row) for row in rows[:most])
    return DifferingRows(spec, shown, seen.rows, is_all=len(rows) <= most, through=None)


def _windows(spec: TableSpec, grid: Grid | None, state: State) -> tuple[Window, ...]:
    if spec.read_by is None:
        return (EVERYTHING,)
    check_terms(spec, state)
    return settled_windows(spec, grid, state)


def _through(windows: tuple[Window, ...]) -> str | None:
    upper = windows[-1].upper
    return None if upper is None else upper.text
