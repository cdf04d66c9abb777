"""Is the copy of a table that is read from a log equal to the source, up to the place in the log that it has come to?

Rows that differ are compared with what the log has: one whose key has changed behind the copy's position differs rightly, and is left out. Any other row
is in the source as it was at that position, so that it has drifted. The position is taken first, then the copy's version, then the source's
snapshots, and the log is read last, up to all that these may have shown: whatever lands or is written meanwhile is a change behind the position.
"""

from __future__ import annotations

from incremental_assets.core.captures.registry import capture_of
from incremental_assets.core.checks.drift import Drift
from incremental_assets.core.checks.look import Look, look
from incremental_assets.core.checks.row_by_row import by_key
from incremental_assets.core.differences.differing import Differing, differing, without
from incremental_assets.core.model.change_columns import as_it_is
from incremental_assets.core.model.cures import full_refresh, sync
from incremental_assets.core.model.observe_request import ObserveRequest
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.verified import Drifted
from incremental_assets.core.model.window import EVERYTHING
from incremental_assets.core.planning.plan import CommitIds, Request, SyncPlan
from incremental_assets.core.ports import Behind, Ports, TellsChanges
from incremental_assets.core.words import agreeing, counted


def by_log(spec: TableSpec, state: State, ports: Ports) -> Drift:
    """Raises what stops the next sync, too: then nobody knows what has changed."""
    behind = behind_of(spec, state, ports)
    if behind is None:
        return Drift("nothing has landed that could be compared; the next sync loads the table", was_compared=False)
    seen = _look(spec, ports)
    through = str(state.position)
    if _is_equal(seen):
        return Drift(f"{_rows(seen.rows)} equal, verified up to {through} in the source's log", through=through)
    if seen.found is None:
        return _too_many(spec, through, behind, ports) if spec.traits.one_row_per_key else _too_many_changes(spec)
    places = seen.found.places.numbers or frozenset()
    changed = behind.among(places)
    held = (ports.by_key.held_places(spec) & places) - changed
    left = without(seen.found, changed | held)
    just = _just_changed(len(changed))
    if not (left.missing or left.extra):
        equal = seen.rows - len((changed | held) & (seen.found.lacking.numbers or frozenset()))
        return Drift(f"{_rows(equal)} equal, verified up to {through} in the source's log{just}", through=through)
    rows, _ = by_key(as_it_is(spec), (EVERYTHING,), left, ports)
    told = [
        f"{counted(left.missing, 'row')} of the source {agreeing(left.missing, 'is', 'are')} missing in the lake or different there",
        f"{counted(left.extra, 'row')} of the lake {agreeing(left.extra, 'is', 'are')} none of the source's",
    ]
    detail = "; ".join(each for each, count in zip(told, (left.missing, left.extra), strict=True) if count)
    return Drift(
        f"{detail}, as of {through} in the source's log{just}",
        left.missing + left.extra,
        drifted=(Drifted(EVERYTHING, left.missing + left.extra),),
        samples=rows.missing_keys or rows.extra_keys,
    )


def behind_of(spec: TableSpec, state: State, ports: Ports) -> Behind | None:
    """What has changed behind the copy's position, asked before the two are compared; None where the next sync loads all rows. Raises likewise."""
    rows = ports.source_rows(spec)
    if not isinstance(rows, TellsChanges):
        raise TypeError(f"{spec.id}: its source does not tell which of its rows have changed")
    (seen,) = ports.probe.observe((ObserveRequest(spec, state),))
    next_sync = capture_of(spec).plan(spec, Request("check"), state, CommitIds(state.app_id, state.seq, "check"), seen)
    if isinstance(next_sync, SyncPlan) and next_sync.reading.is_whole:
        return None
    return rows.behind(spec, state)


def _look(spec: TableSpec, ports: Ports) -> Look:
    if spec.traits.one_row_per_key:
        return look(spec, (EVERYTHING,), ports)
    # Every change is a row of the copy: what they come to is compared.
    copy, now = ports.by_key.placed_rows(spec, (EVERYTHING,)), as_it_is(spec)
    with ports.source_rows(spec).placed_rows(now, (EVERYTHING,)) as source:
        found = differing(now, copy, source) if source is not None else None
    return Look(found.rows if found else 0, (EVERYTHING,), found)


def unchanged_of(spec: TableSpec, found: Differing, behind: Behind, ports: Ports) -> Differing:
    """What differs although nothing has changed it, and no contract holds it."""
    changed = behind.among(found.places.numbers or frozenset())
    return without(found, changed | ports.by_key.held_places(spec))


def _is_equal(seen: Look) -> bool:
    return not seen.windows or (seen.found is not None and not seen.found.places.numbers)


def _too_many(spec: TableSpec, through: str, behind: Behind, ports: Ports) -> Drift:
    """Where rows are too many to be named, or cannot be: more of them than changes have drifted, and of fewer nothing is known."""
    rows = ports.auditor.compare(spec, (EVERYTHING,))
    most, differ = behind.most(), max(rows.missing, rows.extra)
    sure = 0 if most is None else differ - most
    if not differ:
        return Drift(f"every row is equal, verified up to {through} in the source's log", through=through)
    if sure > 0:
        return Drift(
            f"at least {counted(sure, 'row')} {agreeing(sure, 'differs', 'differ')} from the source, as of {through} in its log",
            sure,
            drifted=(Drifted(EVERYTHING, sure),),
            samples=() if most else rows.missing_keys or rows.extra_keys,
            cure=f"{full_refresh(spec)} reads the table again",
        )
    came = "the table was truncated" if most is None else f"{counted(most, 'change')} came"
    return Drift(
        f"{counted(differ, 'row')} {agreeing(differ, 'differs', 'differ')} and {came} behind {through} in the source's log, so that nothing is known "
        f"of them; run {sync(spec.id)}, and check again",
        was_compared=False,
    )


def _too_many_changes(spec: TableSpec) -> Drift:
    return Drift(
        f"more rows differ than are looked up one by one; run {sync(spec.id)}, and check again", was_compared=False
    )


def _rows(rows: int) -> str:
    return f"{counted(rows, 'row')} {agreeing(rows, 'is', 'are')}" if rows else "0 rows are"


def _just_changed(rows: int) -> str:
    if not rows:
        return ""
    return f"; {counted(rows, 'row')} {agreeing(rows, 'was', 'were')} not compared, as {agreeing(rows, 'it has', 'they have')} changed behind that"
