"""Finds which tables need a sync now, and the partitions that it would touch: pure, from one look at the source."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from incremental_assets.core.captures.capture import Observation
from incremental_assets.core.captures.planner import plan
from incremental_assets.core.captures.registry import capture_of
from incremental_assets.core.errors import IncrementalAssetsError, sentence_of
from incremental_assets.core.model.cursor import CursorValue
from incremental_assets.core.model.deletes import IGNORED
from incremental_assets.core.model.number_keys import (
    MOST_KEYS,
    IntegerGrid,
    among,
    extended,
    integer_bounds,
    integer_keys,
    is_open,
    is_too_wide,
    laid,
)
from incremental_assets.core.model.partition import CURRENT, Grid, TimeGrid, keys, touched, window_of
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.model.window import Window
from incremental_assets.core.planning.events import Checkpoint
from incremental_assets.core.planning.plan import CommitIds, NothingToDo, Request, SyncPlan
from incremental_assets.core.planning.report import Status, SyncReport
from incremental_assets.core.ports import Probe, SourceRows
from incremental_assets.core.preview.bulk import bulk_of
from incremental_assets.core.syncing.idle import IdleTable

_log = logging.getLogger(__name__)

_UNUSED = CommitIds("", 0, "")
_REQUEST = Request(run_id="")


@dataclass(frozen=True, slots=True)
class Pending:
    """A table with something to read, and the window to read."""

    spec: TableSpec
    window: Window
    observation: Observation
    begins: CursorValue | None = None
    """The table's smallest cursor, if the window is open below and the cursor was queried."""
    reached: CursorValue | None = None
    """The highest cursor read so far. Partitions between it and the window passed while the table was idle, and were never announced."""
    bulk: tuple[int, int] | None = None
    """Where most of the numbers of a table lie that is read from its beginning, if they lie too far apart for one grid."""

    @property
    def announced(self) -> Window:
        """The window as far as there can be rows in it, and what was covered since the last row."""
        lower, upper = self.window.lower or self.begins, self.window.upper
        if self.window.lower is not None and self.reached is not None:
            lower = min(self.window.lower, self.reached)
        return self.window if lower is None or (upper is not None and upper < lower) else Window(lower, upper)


@dataclass(frozen=True, slots=True)
class Blocked:
    """A table that would refuse to sync, and why: requesting a run would not help."""

    table: TableId
    sentence: str
    status: Status = Status.FAILED


def look_over(
    specs: Sequence[TableSpec],
    positions: Mapping[TableId, Checkpoint],
    observations: Sequence[Observation],
    changed: Collection[TableId] = (),
    request: Request = _REQUEST,
) -> tuple[tuple[Pending, ...], tuple[Blocked, ...], tuple[IdleTable, ...]]:
    """The tables that have moved, those that may not go on, and those that stand still; one that moved can have news to keep beside them.

    One that another writer has `changed` counts as pending: its sync stops, and says so where people look. So does one of which only a sync can tell whether it is well again.
    """
    moved, stopped, still = [], [], []
    for spec, seen in zip(specs, observations, strict=True):
        position = positions.get(spec.id, Checkpoint())
        try:
            found, idle = _looked(spec, position, seen, request, is_changed=spec.id in changed)
        except Exception as error:  # noqa: BLE001 - the other tables go on, whatever this one met
            if not isinstance(error, IncrementalAssetsError):
                _log.exception("%s: the look failed with an unexpected error", spec.id)
            stopped.append(Blocked(spec.id, sentence_of(spec.id, error), Status.of(error)))
            continue
        moved += [found] if found else []
        still += [idle] if idle else []
    return tuple(moved), tuple(stopped), tuple(still)


def _looked(
    spec: TableSpec, position: Checkpoint, seen: Observation, request: Request, *, is_changed: bool
) -> tuple[Pending | None, IdleTable | None]:
    """What one look says of one table: what it has to read, and what is known of it though nothing was read."""
    state, capture = position.state, capture_of(spec)
    decision = plan(spec, request, state, _UNUSED, seen)
    if isinstance(decision, SyncPlan):
        back = capture.noticed(decision)
        news = None if back is None else IdleTable(spec, position, _put_back(decision, back), is_news=True)
        # A comparison looks at every row, and is no news of every partition.
        compares = decision.reading.finds_differing
        window = capture.window(spec, _REQUEST, state, seen) if compares else decision.reading.window
        return Pending(spec, window, seen, reached=_reached(state)), news
    is_due = decision.next_look is None
    unfilled = is_due and state is not None and state.unfilled is not None
    if position.open is not None or is_changed or unfilled or decision.renames:
        # What a killed run left open, or another writer did, must be checked in the lake, even if nothing else changed; new columns are still to be read, or to be renamed.
        window = capture.window(spec, request, state, seen)
        return Pending(spec, window, seen, reached=_reached(state)), None
    # Of a table with a schedule it is news that it was looked at, once it was due.
    is_news = is_due and (spec.schedule is not None or capture.is_news(spec, seen, decision, state))
    return None, IdleTable(spec, position, decision, is_news)


def _put_back(decision: SyncPlan, state: State) -> NothingToDo:
    """What is known before the requested run begins: by then the clock may have been put forward again."""
    promise = decision.reading.promise
    return NothingToDo(
        "the source's clock was put back",
        promise.guarantee,
        promise.reason,
        decision.reading.settled_at,
        decision.previous_watermark,
        state,
        decision.warnings,
        within=promise.within,
    )


def _reached(state: State | None) -> CursorValue | None:
    return state.position.max_cursor_read if state else None


def located(moved: Sequence[Pending], probe: Probe, grid_of: Callable[[TableId], Grid | None]) -> tuple[Pending, ...]:
    """The same tables; for those that are read from their beginning the beginning is now known, so that no empty partition is announced, and their bulk if that is asked for."""
    open_below, rows = (
        [each for each in moved if each.window.lower is None and each.spec.read_by is not None],
        probe.rows,
    )
    if not open_below or rows is None:
        return tuple(moved)
    found = dict(
        zip((each.spec.id for each in open_below), rows.lowest([each.spec for each in open_below]), strict=True)
    )
    begun = (replace(each, begins=found.get(each.spec.id)) for each in moved)
    return tuple(replace(each, bulk=_bulk(each, grid_of(each.spec.id), rows)) for each in begun)


def _bulk(found: Pending, grid: Grid | None, rows: SourceRows) -> tuple[int, int] | None:
    """None if one grid covers all numbers, or if the source does not say where they lie: then that is said of the table alone."""
    highest, begins, numbers = found.observation.highest, found.begins, capture_of(found.spec).counted_by(found.spec)
    if not isinstance(grid, IntegerGrid) or numbers is None or None in (highest, begins):
        return None
    ends = int(begins.text), int(highest.text)  # type: ignore[union-attr]
    if not is_too_wide(grid, *ends):
        return None

    # Rows are only counted, wherever they are and whatever tells them apart: a hash of the cursor alone is the least that a source computes.
    others = set(found.spec.shape.names) - {numbers.column, numbers.fallback}
    shape = found.spec.shape.without(others)
    narrow = replace(found.spec, shape=shape, key=(), source_key=(), key_enforced=False, deletes=IGNORED)

    def counts(ranges: Sequence[tuple[int, int]]) -> list[int]:
        windows = [Window(*(CursorValue.of(numbers.type, end) for end in each)) for each in ranges]
        return [measure.rows for measure in rows.measure(narrow, windows)]

    try:
        return bulk_of(grid, *ends, counts)
    except IncrementalAssetsError as error:
        _log.warning("%s", error)
    except Exception:  # noqa: BLE001 - logged whole
        # The other tables go on, whatever this one met; of itself the look says that its partitions are too many.
        _log.exception("%s: where most of its numbers lie could not be asked", found.spec.id)
    return None


def partition_keys(grid: Grid | None, found: Pending, now: datetime, known: Sequence[str] = ()) -> tuple[str, ...]:
    """The keys that the table's next sync touches, ascending; empty if the grid has none yet. One without a row touches its last one, or the first that there will be.

    `now` is the orchestrator's clock: a source that is ahead must not name a key that does not exist yet. `known` are the keys of an
    integer grid so far.
    """
    if grid is None:
        return (CURRENT,)
    if isinstance(grid, TimeGrid):
        until = min(found.observation.bound.clock, now)
        # A window beyond the clock, or below the grid, is loaded nevertheless and announced by the open key.
        return touched(grid, found.announced, until) or keys(grid, until)[-1:]
    highest = found.observation.highest
    if highest is None:
        return tuple(known[-1:]) or _of_no_row(grid, found.spec)
    last, lower = int(highest.text), found.announced.lower
    if is_open(known):
        return among(grid, known, None if lower is None else min(int(lower.text), last), last)
    first = min(_first(grid, lower, last, known), last)
    if is_too_wide(grid, integer_bounds(grid, known[0])[0] if known else first, last):
        open_ended = _with_open_ends(grid, found, known)
        return among(grid, open_ended, first, last) if open_ended else integer_keys(grid, first, last)
    return integer_keys(grid, first, last)


def is_of_no_row(grid: Grid | None, found: Pending, known: Sequence[str]) -> bool:
    """Whether the only key of a table was made for its run without a row, and its first rows lie elsewhere: the grid begins with them."""
    if not isinstance(grid, IntegerGrid) or found.reached is not None or found.begins is None:
        return False
    keys = _of_no_row(grid, found.spec)
    return tuple(known) == keys and not among(grid, keys, int(found.begins.text), int(found.begins.text))


def _of_no_row(grid: IntegerGrid, spec: TableSpec) -> tuple[str, ...]:
    begin = int(spec.start.text) if spec.start else 0
    return integer_keys(grid, begin, begin)


def _with_open_ends(grid: IntegerGrid, found: Pending, known: Sequence[str]) -> tuple[str, ...]:
    """All keys of a table whose numbers lie too far apart: those there are and an open last one, or a grid over its bulk with both; none without a bulk."""
    if known:
        return extended(grid, known)
    return laid(grid, *found.bulk) if found.bulk else ()


def later_keys(grid: Grid | None, last: str, spec: TableSpec, report: SyncReport, now: datetime) -> tuple[str, ...]:
    """The keys above `last`, the last requested one, that a landed sync touched because they began before it read."""
    if not isinstance(grid, TimeGrid) or spec.read_by is None or report.window is None or report.clock is None:
        return ()
    begins, upper = window_of(grid, last, spec.read_by.type).upper, report.window.upper
    if begins is None or (upper is not None and upper <= begins):
        return ()
    return touched(grid, Window(begins, upper), min(report.clock, now))


def new_keys(grid: Grid | None, found: Pending, wanted: Sequence[str], known: Sequence[str]) -> tuple[str, ...]:
    """The keys of an integer grid that do not exist yet, from the last one there is upwards: without gaps, and never below the first."""
    if not isinstance(grid, IntegerGrid) or not wanted or is_open(known):
        return ()
    if is_open(wanted):
        return _with_open_ends(grid, found, known)[len(known) :]
    begin = integer_bounds(grid, known[-1])[1] if known else _old_beginning(grid, found, wanted)
    end = integer_bounds(grid, wanted[-1])[1]
    return integer_keys(grid, begin, end - 1) if begin < end else ()


def _old_beginning(grid: IntegerGrid, found: Pending, wanted: Sequence[str]) -> int:
    """The beginning of a grid without keys: a table that was read before, under another size or another home of Dagster, also has its older windows."""
    first, last = (integer_bounds(grid, key)[0] for key in (wanted[0], wanted[-1]))
    if found.reached is None:
        return first
    start = found.spec.start
    return min(first, _usual_beginning(grid, last) if start is None else int(start.text))


def _first(grid: IntegerGrid, lower: CursorValue | None, last: int, known: Sequence[str]) -> int:
    """The lowest value whose key is touched: never below the first key there is, as keys are only ever added at the upper end."""
    begin = integer_bounds(grid, known[0])[0] if known else None
    if lower is not None:
        if begin is None:
            return int(lower.text)
        # Keys above the last one were read by a run that was requested before their rows came, and are announced nowhere else.
        return min(max(begin, int(lower.text)), integer_bounds(grid, known[-1])[1])
    return _usual_beginning(grid, last) if begin is None else begin


def _usual_beginning(grid: IntegerGrid, last: int) -> int:
    """Numbers usually count from 1. Where they begin so high that the grid from 0 on has too many keys, it begins with the open one."""
    return min(0, last) if abs(last) // grid.size < MOST_KEYS else last
