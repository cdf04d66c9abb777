"""Windows whose numbers differ between a copy and its source: rows and the sum of their hashes."""

from __future__ import annotations

from collections.abc import Sequence

from incremental_assets.core.concurrency.background import side_by_side
from incremental_assets.core.model.measure import Measure
from incremental_assets.core.model.schema_drift import TargetColumn, check_comparable, difference
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.window import Window
from incremental_assets.core.ports import Ports

_AT_ONCE = 24
"""Windows measured one by one in one scan; of more of them, runs are compared first, and only those that differ are looked into."""

_Run = tuple[Window, ...]
"""Windows that touch each other, ascending."""


def unequal(spec: TableSpec, windows: Sequence[Window], ports: Ports) -> tuple[tuple[Window, ...], int]:
    """The windows whose numbers differ, and the source's rows in all of them.

    Found in steps: a run of windows is looked into only if it differs as a whole.
    """
    single: set[Window] = set()
    rows: int | None = None
    runs = _runs(windows, -(-len(windows) // _AT_ONCE))
    while runs:
        measured = [pair for batch in _batches(runs) for pair in _measured(spec, batch, ports)]
        if rows is None:
            rows = sum(there.rows for _, there in measured)
        differing = [
            run for run, (here, there) in zip(runs, measured, strict=True) if _numbers(here) != _numbers(there)
        ]
        single.update(run[0] for run in differing if len(run) == 1)
        runs = [part for run in differing if len(run) > 1 for part in _runs(run, -(-len(run) // _AT_ONCE))]
    return tuple(window for window in windows if window in single), rows or 0


def _measured(spec: TableSpec, runs: Sequence[_Run], ports: Ports) -> list[tuple[Measure, Measure]]:
    return both_sides(spec, tuple(Window(run[0].lower, run[-1].upper) for run in runs), ports)


def both_sides(spec: TableSpec, windows: Sequence[Window], ports: Ports) -> list[tuple[Measure, Measure]]:
    """Lake and source, window by window. Both count at the same time, of a version of the lake that was there before the source was asked."""
    check_types(spec, ports)
    rows = ports.source_rows(spec)
    counting = ports.auditor.measure(spec, windows, rows.row_hash())
    here, source = side_by_side(counting, lambda: rows.measure(spec, windows, counting.by))
    if any(found.by is not counting.by for found in here):
        source = rows.measure(spec, windows)
    return list(zip(here, source, strict=True))


def check_types(spec: TableSpec, ports: Ports) -> None:
    """Raises SchemaChanged where the copy holds a column under another type than the source has now."""
    landed = [TargetColumn(name, kind) for name, kind in ports.reader.columns(spec)]
    check_comparable(spec, difference(spec.columns, landed))


def _numbers(measure: Measure) -> tuple[int, str]:
    return measure.rows, measure.digest


def _runs(windows: Sequence[Window], size: int) -> list[_Run]:
    """Runs of at most `size` windows that touch each other."""
    runs: list[list[Window]] = []
    for window in windows:
        last = runs[-1] if runs else None
        if last is not None and len(last) < size and last[-1].upper == window.lower:
            last.append(window)
        else:
            runs.append([window])
    return [tuple(run) for run in runs]


def _batches(runs: Sequence[_Run]) -> list[Sequence[_Run]]:
    return [runs[start : start + _AT_ONCE] for start in range(0, len(runs), _AT_ONCE)]
