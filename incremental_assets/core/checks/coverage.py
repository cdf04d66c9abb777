"""What has been covered, partition by partition, compared with what an orchestrator shows. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass

from incremental_assets.core.errors import TermsChanged
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.number_keys import IntegerGrid, is_open, is_too_wide
from incremental_assets.core.model.partition import Grid, touched, window_of
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.model.window import Window, gaps, merge
from incremental_assets.core.planning.preflight import check_terms


@dataclass(frozen=True, slots=True)
class Coverage:
    """One table. Without a watermark there is nothing yet that must be covered."""

    table: TableId
    grid: Grid
    covered: tuple[Window, ...]
    gaps: tuple[Window, ...]
    """The gaps between the table's `start` and its watermark."""
    announced: tuple[str, ...]
    """Partitions of the table's grid that the orchestrator shows as materialized."""
    not_covered: tuple[str, ...]
    """Those with a gap below the watermark."""
    not_announced: tuple[str, ...]
    """Completely covered, between the first announced partition and the last row read, but not announced."""
    refused: TermsChanged | None = None
    """Why the two cannot be compared: what landed has the windows of another cursor."""

    is_begun: bool = True
    """Whether there is a watermark, up to which something must be covered."""

    @property
    def agrees(self) -> bool:
        """Whether all that was announced is there, and nothing below the watermark is missing."""
        return not (self.gaps or self.not_covered or self.refused)


def coverage_of(spec: TableSpec, grid: Grid, state: State | None, announced: Collection[str]) -> Coverage:
    """Compare what has landed of a table that has windows with the partitions announced for it. Keys of another grid are ignored."""
    if spec.read_by is None:
        raise ValueError(f"{spec.id}: a table without a cursor has no windows")
    windows = _windows(grid, spec.read_by.type, announced)
    try:
        check_terms(spec, state)
    except TermsChanged as refused:
        return Coverage(spec.id, grid, (), (), tuple(windows), (), (), refused)
    covered = merge(state.position.coverage) if state else ()
    watermark = state.position.watermark if state else None
    if state is None or watermark is None:
        return Coverage(spec.id, grid, covered, (), tuple(windows), (), (), is_begun=False)
    reached = watermark if state.position.max_cursor_read is None else min(watermark, state.position.max_cursor_read)
    return Coverage(
        table=spec.id,
        grid=grid,
        covered=covered,
        gaps=state.position.unread(spec.start, watermark),
        announced=tuple(windows),
        not_covered=tuple(key for key, each in windows.items() if gaps(covered, each.clamp_upper(watermark))),
        not_announced=tuple(
            key
            for key, each in _expected(grid, windows, reached).items()
            if key not in windows and not gaps(covered, each)
        ),
    )


def _windows(grid: Grid, kind: CursorType, keys: Iterable[str]) -> dict[str, Window]:
    """Ascending, without keys that the grid does not have."""
    found = {}
    for key in keys:
        with suppress(ValueError):
            found[key] = window_of(grid, key, kind)
    return dict(sorted(found.items(), key=lambda item: _begins(item[1])))


def _begins(window: Window) -> tuple[bool, CursorValue | None]:
    """What to sort by: an open beginning comes first."""
    return window.lower is not None, window.lower


def _expected(grid: Grid, announced: Mapping[str, Window], reached: CursorValue) -> dict[str, Window]:
    """Every partition from the first one announced to the one in which the last row was read."""
    lower = next((window.lower for window in announced.values() if window.lower is not None), None)
    if lower is None or reached <= lower:
        return {}
    if isinstance(grid, IntegerGrid):
        ends = [each for window in announced.values() for each in (window.lower, window.upper) if each is not None]
        # Above the last announced one there may be one with an open end, of which an orchestrator that does not show it cannot tell.
        end = max(ends) if is_open(announced) or is_too_wide(grid, int(lower.text), int(reached.text)) else reached
        return _windows(grid, reached.type, touched(grid, Window(lower, min(end, reached)), int(reached.text)))
    until = reached.moment()
    return _windows(grid, reached.type, touched(grid, Window(lower, reached), until))
