"""Is the copy equal to the source? Counted and hashed by window on both sides, row by row only where the numbers differ.

What is compared has settled: it lies below the lower end of the next sync's window, so that no row can still arrive there, and within the
coverage. A row that changed in the source since the last sync has left its old window there and not yet in the lake; a deleted one
likewise. Therefore what only the lake has is no drift, but for a row that the source now shows as one that cannot land, and, where deletes are
followed, for one whose key the source no longer has; and what the source has and the lake lacks, or holds differently, is:
an upsert keeps the latest version of each row, and an append keeps every version that it saw.

The lake's version is always chosen before the source is asked. A sync that lands in between can only take rows out of windows that the
source then no longer shows either; asked the other way round, such a row would seem to be missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from incremental_assets.core.captures.registry import capture_of
from incremental_assets.core.checks.by_log import by_log
from incremental_assets.core.checks.drift import Drift
from incremental_assets.core.checks.look import Look, look, look_again
from incremental_assets.core.checks.row_by_row import NAMED, compared
from incremental_assets.core.checks.undeleted import undeleted
from incremental_assets.core.checks.unequal import both_sides
from incremental_assets.core.checks.verdict import unfinished
from incremental_assets.core.differences.differing import Differing, differing_now
from incremental_assets.core.differences.erased import without_erased
from incremental_assets.core.model.change_columns import keeps_changes
from incremental_assets.core.model.cures import reset
from incremental_assets.core.model.cursor import CursorValue
from incremental_assets.core.model.measure import Comparison, Outdated
from incremental_assets.core.model.partition import Grid, keys_within, window_of
from incremental_assets.core.model.quarantine import NOTHING_HELD, HeldRows
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.verified import Drifted
from incremental_assets.core.model.window import Window, cut, merge
from incremental_assets.core.planning.preflight import check_terms
from incremental_assets.core.planning.target import AsLeft
from incremental_assets.core.ports import Ports
from incremental_assets.core.words import agreeing, counted

ONLY_TELLS = "the source tells what comes, and is not asked for the rows that it has, so that the two are not compared"
_WITHOUT_KEY = "the copy has every change of a table without a key, and no change says which of its rows are there now, so that the two are not compared"
_OTHERS_EQUAL = "every other row of the source is in the lake as it is"
_EMPTY = "neither the source nor the lake has a row to compare"


def reconcile(
    spec: TableSpec,
    grid: Grid | None,
    ports: Ports,
    within: Sequence[Window] | None = None,
    before: Look | None = None,
) -> Drift:
    """Compare a table with its source; `within` restricts an incremental table to some windows.

    `before`: an earlier look at them, since which the copy has changed nowhere but in what differed.
    """
    after = ports.checkpoints.last_event(spec.id)
    spec = spec.without_masked
    return replace(_compared(spec, grid, ports, within, before), after=after)


def _compared(
    spec: TableSpec, grid: Grid | None, ports: Ports, within: Sequence[Window] | None, before: Look | None
) -> Drift:
    position = ports.checkpoints.position(spec.id)
    if position.state is None:
        return Drift("nothing has landed yet", was_compared=False)
    if why := unfinished(spec.id, position.state):
        return Drift(why, was_compared=False)
    if keeps_changes(spec) and not spec.key:
        return Drift(_WITHOUT_KEY, was_compared=False)
    if ports.probe.rows is None:
        return Drift(ONLY_TELLS, was_compared=False)
    if capture_of(spec).tells_changes:
        return by_log(spec, position.state, ports)
    if spec.read_by is None:
        return _whole(spec, position.state, position.target, ports)
    check_terms(spec, position.state)  # a watermark of another cursor bounds no window of this one
    windows = settled_windows(spec, grid, position.state, within)
    if not windows:
        return _unsettled(spec, Drift("nothing has settled yet that could be compared"), ports)
    seen = look_again(spec, windows, before, ports) if before else look(spec, windows, ports)
    return replace(_of_windows(spec, position.state, seen, ports, is_whole=within is None), seen=seen)


def _of_windows(spec: TableSpec, state: State, seen: Look, ports: Ports, *, is_whole: bool) -> Drift:
    windows = seen.over
    looked_at = merge(windows)
    reached, unread = _reached(spec, state, windows[-1].upper)
    verified = _text(reached)
    if not seen.windows:
        rows = seen.rows
        erased = seen.found.erased if seen.found else 0
        rows -= erased
        equal = f"{counted(rows, 'row')} in {counted(len(windows), 'window')} {agreeing(rows, 'is', 'are')} equal{left_out(erased)}"
        said = equal if rows else _nothing_in(looked_at, is_whole=is_whole)
        drift = Drift(said + unread, 0, verified, verified, looked_at)
        return drift if rows or not is_whole else _unsettled(spec, drift, ports)
    found, drifted = compared(spec, seen.windows, seen.found, ports)
    stayed = undeleted(spec, state, ports) if found.extra else None
    if stayed is not None and not drifted:
        whole = (Drifted(Window(looked_at[0].lower, looked_at[-1].upper), stayed.rows),)
        return Drift(
            stayed.detail,
            stayed.rows,
            None,
            verified,
            looked_at,
            whole,
            stayed.samples,
            stayed.is_expected,
            cure=stayed.cure,
        )
    outdated = _outdated(spec, windows, found, seen.found if is_whole else None, ports)
    if outdated.rows:
        detail = (
            f"{counted(outdated.rows, 'row')} of the copy {agreeing(outdated.rows, 'shows', 'show')} what the source no longer has: it has "
            f"changed {agreeing(outdated.rows, 'it', 'them')} to what cannot land; {reset(spec)} takes {agreeing(outdated.rows, 'it', 'them')} out"
        )
        missing = f"; {counted(found.missing, 'row')} of the source {agreeing(found.missing, 'is', 'are')} missing in the lake or different there"
        samples = (*outdated.samples, *found.missing_keys)[:NAMED]
        # Where such a row lies in the lake, no window of the source tells.
        anywhere = (Drifted(Window(looked_at[0].lower, looked_at[-1].upper), outdated.rows), *drifted)
        return Drift(
            detail + (missing if drifted else ""),
            outdated.rows + found.missing,
            None,
            verified,
            looked_at,
            anywhere,
            samples,
        )
    if not drifted:
        return Drift(
            f"every settled row of the source is in the lake as it is; {_only_in_lake(spec, found)}{unread}",
            through=verified,
            reached=verified,
            looked_at=looked_at,
        )
    named = ", ".join(str(piece.window) for piece in drifted[:NAMED])
    missing = f"{counted(found.missing, 'row')} of the source {agreeing(found.missing, 'is', 'are')} missing in the lake or different there"
    detail = f"{missing}, in {named}"
    if stayed is not None:
        # Where a row lies that is gone from the source, no window of the source tells.
        anywhere = (Drifted(Window(looked_at[0].lower, looked_at[-1].upper), stayed.rows), *drifted)
        samples = (*found.missing_keys[: NAMED // 2], *stayed.samples)[:NAMED]
        rows = found.missing + stayed.rows
        return Drift(f"{detail}; {stayed.detail}", rows, None, verified, looked_at, anywhere, samples)
    through = _text(_lower(drifted[0].window.lower, reached))
    return Drift(detail, found.missing, through, verified, looked_at, drifted, found.missing_keys)


def _unsettled(spec: TableSpec, drift: Drift, ports: Ports) -> Drift:
    """The same, of a table in which no settled row was there to compare: it is equal only if neither side has any row, for which no row is hashed."""
    if ports.reader.rows(spec) or ports.source_rows(spec).lowest((spec,)) != (None,):
        return replace(drift, was_compared=False)
    # Without a cursor, or where that takes too long to say, there may be some.
    ((_, source),) = both_sides(spec, (Window(None, None),), ports)
    return replace(drift, was_compared=False) if source.rows else replace(drift, detail=_EMPTY)


def settled_windows(
    spec: TableSpec, grid: Grid | None, state: State, within: Sequence[Window] | None = None
) -> tuple[Window, ...]:
    """The grid's windows as far as they are covered and have settled, ascending."""
    if state.position.watermark is None:
        return ()
    upper = state.position.watermark.minus(spec.lookback)
    lowest = Window(spec.start, None)
    covered = cut(cut(merge(state.position.coverage), (lowest,)), (Window(None, upper),))
    wanted = covered if within is None else cut(covered, merge(within))
    return cut(wanted, tuple(_grid_windows(spec, grid, wanted)))


def _reached(spec: TableSpec, state: State, upper: CursorValue | None) -> tuple[CursorValue | None, str]:
    """The value up to which the copy is verified if all that was read is equal: `upper`, or the beginning of what was never read; and the words for that."""
    holes = state.position.unread(spec.start, upper)
    if not holes:
        return upper, ""
    detail = f"; {', '.join(map(str, holes[:NAMED]))} was never read: {reset(spec)} reads it"
    return holes[0].lower if holes[0].lower != spec.start else None, detail


def _lower(one: CursorValue | None, other: CursorValue | None) -> CursorValue | None:
    """The smaller of two ends, below which nothing may be verified: None."""
    return None if one is None or other is None else min(one, other)


def _whole(spec: TableSpec, state: State, target: AsLeft | None, ports: Ports) -> Drift:
    """A table that is read whole may differ from a source that has changed since; what another writer wrote into the copy is drift."""
    whole = Window(None, None)
    found = ports.reader.inspect(spec, target.version if target else None)
    if found is None:
        rows = state.rows or 1
        return Drift("the table is gone from the lake", rows, drifted=(Drifted(whole, rows),))
    ((lake, source),) = both_sides(spec, (whole,), ports)
    if (lake.rows, lake.digest) == (source.rows, source.digest):
        equal = f"{counted(lake.rows, 'row')} {agreeing(lake.rows, 'is', 'are')} equal" if lake.rows else _EMPTY
        return Drift(equal, through=state.clock.isoformat() if state.clock else None)
    by_key = differing_now(spec, (whole,), ports) if spec.traits.one_row_per_key else None
    by_key = without_erased(spec, by_key, ports) if by_key else None
    difference, _ = compared(spec, (whole,), by_key, ports)
    if found.foreign:
        rows = max(1, difference.missing + difference.extra)
        return Drift(
            f"{counted(rows, 'row')} {agreeing(rows, 'differs', 'differ')} from the source, and another writer has changed the copy ({found.foreign})",
            rows,
            drifted=(Drifted(whole, rows),),
            samples=difference.missing_keys,
        )
    if not (difference.missing or difference.extra) and ports.erasures.has(spec.id):
        through = state.clock.isoformat() if state.clock else None
        return Drift(f"{_OTHERS_EQUAL}, and those that were erased from the copy are left out", through=through)
    return _changed_since(spec, state, difference, ports.quarantine.held(spec) or NOTHING_HELD)


def _changed_since(spec: TableSpec, state: State, found: Comparison, held: HeldRows) -> Drift:
    """A result without drift: the next sync brings what differs, or the copy has an older version of a row that its contract holds."""
    rows = found.missing + max(0, found.extra - held.stale)
    if not rows and held.rows:
        through = state.clock.isoformat() if state.clock else None
        return Drift(_OTHERS_EQUAL, through=through)
    read = f" at {state.clock:%Y-%m-%d %H:%M}Z" if state.clock else ""
    since = f"since it was {capture_of(spec).words}{read}, which the next {capture_of(spec).turn} brings"
    return Drift(f"the source has changed in {counted(rows, 'row')} {since}")


def _nothing_in(looked_at: Sequence[Window], *, is_whole: bool) -> str:
    """What is said where neither side has a row: nothing was compared, and what lies above may differ."""
    named = ", ".join(map(str, looked_at[:NAMED]))
    if is_whole and len(looked_at) == 1:
        return (
            f"nothing is settled yet to compare: the source and the lake have no row in {named}; "
            "later rows are compared once they have settled"
        )
    return f"{_EMPTY} in {named}, which is all that was compared"


def left_out(erased: int) -> str:
    """What is said of rows that were not missed; nothing where there are none."""
    if not erased:
        return ""
    return f"; {counted(erased, 'row')} of the source {agreeing(erased, 'was', 'were')} erased from the copy and {agreeing(erased, 'is', 'are')} left out"


def _text(value: CursorValue | None) -> str | None:
    return None if value is None else value.text


def _outdated(
    spec: TableSpec, windows: Sequence[Window], found: Comparison, by_key: Differing | None, ports: Ports
) -> Outdated:
    """The rows that the copy holds in an older version, counted only where something is in the lake alone.

    Such a row is in the lake as it was, and in no window of the source as one that can be compared. `by_key`: of all windows. Where each key has one row at most, none is outdated unless there is a key that the lake alone has.
    """
    if not found.extra or not spec.traits.one_row_per_key:
        return Outdated(0)
    if by_key is not None and spec.key_enforced and not by_key.vanished.numbers:
        return Outdated(0)
    return ports.auditor.outdated(spec, windows)


def _only_in_lake(spec: TableSpec, found: Comparison) -> str:
    keys = (
        f" (the {agreeing(len(found.extra_keys), 'key', 'keys')} {'; '.join(found.extra_keys)})"
        if found.extra_keys
        else ""
    )
    rows = f"{counted(found.extra, 'row')} {agreeing(found.extra, 'is', 'are')} only in the lake{keys}"
    left = "given another key, or left out by `where` since" if spec.where else "or given another key"
    return f"{rows}: changed since in the source, deleted there, {left}"


def _grid_windows(spec: TableSpec, grid: Grid | None, wanted: Sequence[Window]) -> list[Window]:
    """What lies below a time grid's first key is one window of its own."""
    if grid is None or spec.read_by is None or not wanted:
        return list(wanted)
    windows: list[Window] = []
    for part in wanted:
        keyed = [window_of(grid, key, spec.read_by.type) for key in keys_within(grid, part)]
        first = keyed[0].lower if keyed else part.upper
        if first is None or part.lower is None or part.lower < first:
            windows.append(Window(part.lower, first))
        windows += keyed
    return list(dict.fromkeys(windows))
