"""What a look at some windows of a table sees: whether both sides are equal there, and which rows differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from incremental_assets.core.checks.unequal import check_types, unequal
from incremental_assets.core.differences.differing import Differing, bounds_of, differing, differing_at, differing_now
from incremental_assets.core.differences.erased import without_erased
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.window import Window
from incremental_assets.core.planning.target import LastCommit
from incremental_assets.core.ports import Ports


@dataclass(frozen=True, slots=True)
class Look:
    """`rows`: of the source, in all of the windows."""

    rows: int
    windows: tuple[Window, ...] = ()
    """Those among which all that differs lies; none where both sides are equal."""
    found: Differing | None = None
    """What differs; None where nothing was compared by key: no window differed, too many rows did, or this table cannot be."""
    over: tuple[Window, ...] = ()
    """What was looked at."""
    version: int | None = None
    """The version of the copy before the look, which saw this one or a later one; None where only a session knows it."""

    def is_of(self, last: LastCommit | None) -> bool:
        """Whether it is a look at this very version, by keys."""
        return self.found is not None and last is not None and self.version == last.version


def look(spec: TableSpec, windows: Sequence[Window], ports: Ports) -> Look:
    """A large table whose keys are whole numbers is counted by these, so that no row is hashed twice to tell which differ; others by window first."""
    check_types(spec, ports)
    before = ports.reader.last_commit(spec)
    return replace(_look(spec, windows, ports), over=tuple(windows), version=before.version if before else None)


def _look(spec: TableSpec, windows: Sequence[Window], ports: Ports) -> Look:
    by_key = spec.traits.one_row_per_key
    copy = ports.by_key.placed_rows(spec, windows) if by_key else None
    bounds = bounds_of(spec, copy, ports) if copy is not None else None
    if copy is not None and bounds is not None:
        with ports.source_rows(spec).placed_rows(spec, windows) as source:
            found = differing(spec, copy, source, bounds) if source is not None else None
        if found is not None:
            return _look_of(without_erased(spec, found, ports), windows)
        by_key = False
    apart, rows = unequal(spec, windows, ports)
    found = differing_now(spec, apart, ports) if by_key and apart else None
    if found is None:
        return Look(rows, apart)
    found = without_erased(spec, found, ports)
    return Look(rows, apart if found.places.numbers else (), found)


def look_again(spec: TableSpec, windows: Sequence[Window], before: Look, ports: Ports) -> Look:
    """Look again at what differed before, as the copy has changed nowhere else; at all of it where `before` is of other windows, or what differed has no places."""
    found = before.found
    if before.over != tuple(windows) or (before.windows and found is None):
        return look(spec, windows, ports)
    if found is None or not found.places.numbers:
        return before
    now = differing_at(spec, windows, found.places, ports)
    if now is None:
        return look(spec, windows, ports)
    now = replace(without_erased(spec, now, ports), erased=found.erased)
    return replace(_look_of(replace(now, rows=before.rows - found.there + now.rows), windows), over=before.over)


def _look_of(found: Differing, windows: Sequence[Window]) -> Look:
    return Look(found.rows, tuple(windows) if found.places.numbers else (), found)
