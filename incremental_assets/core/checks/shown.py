"""Which partitions an orchestrator should show of what has landed. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime

from incremental_assets.core.model.cursor import CursorValue
from incremental_assets.core.model.number_keys import among, integer_bounds, is_open, is_too_wide
from incremental_assets.core.model.partition import CURRENT, Grid, TimeGrid, keys, touched, window_of
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.window import Window, gaps, merge
from incremental_assets.core.planning.preflight import check_terms


@dataclass(frozen=True, slots=True)
class Extent:
    """How far the partitions of a table can reach."""

    now: datetime
    """The orchestrator's clock, beyond which it has no partition."""
    begins: CursorValue | None = None
    """The lowest cursor of the table's rows."""
    known: Sequence[str] = ()
    """The keys of an integer grid so far; none is added below them."""


def landed_keys(spec: TableSpec, grid: Grid | None, state: State, extent: Extent) -> tuple[str, ...]:
    """The partitions from the table's first row to the last one that landed, without those that have a gap. Raises TermsChanged, TooManyPartitions."""
    if grid is None:
        return (CURRENT,)
    if spec.read_by is None:
        return ()
    check_terms(spec, state)
    position, kind = state.position, spec.read_by.type
    begins, reached = extent.begins, position.max_cursor_read
    if begins is None or reached is None or reached < begins:
        return ()
    until = _until(reached, state, extent.now)
    windows = {key: window_of(grid, key, kind) for key in _between(grid, (begins, reached), until, extent.known)}
    return _without_gap(windows, state)


def settled_keys(spec: TableSpec, grid: TimeGrid, state: State, now: datetime) -> tuple[str, ...]:
    """The partitions up to the present that have no gap, whether or not they have a row. Raises TermsChanged."""
    if spec.read_by is None:
        return ()
    check_terms(spec, state)
    windows = {key: window_of(grid, key, spec.read_by.type) for key in keys(grid, now)}
    return _without_gap(windows, state)


def _without_gap(windows: Mapping[str, Window], state: State) -> tuple[str, ...]:
    covered, watermark = merge(state.position.coverage), state.position.watermark
    # Above the watermark nothing is covered for good, and what landed there is its last row.
    settled = {key: each if watermark is None else each.clamp_upper(watermark) for key, each in windows.items()}
    return tuple(key for key, each in settled.items() if not gaps(covered, each))


def _between(grid: Grid, ends: tuple[CursorValue, CursorValue], until: datetime, known: Sequence[str]) -> Sequence[str]:
    begins, reached = ends
    if isinstance(grid, TimeGrid):
        return touched(grid, Window(begins, None), until) or keys(grid, until)[-1:]
    first, last = int(begins.text), int(reached.text)
    if is_open(known):
        return among(grid, known, first, last)
    if known:
        first = max(first, integer_bounds(grid, known[0])[0])
    # Where the numbers lie too far apart, a grid is laid by who asks the source where most of them are.
    if first > last or is_too_wide(grid, first, last):
        return ()
    return touched(grid, Window(CursorValue.of(begins.type, first), None), last)


def _until(reached: CursorValue, state: State, now: datetime) -> datetime:
    """The last row, or the clock of the sync that read it, beyond which a row is shown by the partition that was open then."""
    ends = [now if state.clock is None else min(now, state.clock)]
    with suppress(ValueError):
        moment = reached.moment()
        ends.append(moment if moment.tzinfo else moment.replace(tzinfo=UTC))
    return min(ends)
