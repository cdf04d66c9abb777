"""Windows whose numbers differ, row by row: what the source has and the copy lacks or holds differently, and what only the copy has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

from incremental_assets.core.differences.differing import Differing
from incremental_assets.core.model.key_parts import KeyParts
from incremental_assets.core.model.measure import Comparison
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.verified import Drifted
from incremental_assets.core.model.window import Window, merge
from incremental_assets.core.ports import Keys, Ports

NAMED = 10
"""Drifted windows that are named one by one, and keys."""


def compared(
    spec: TableSpec, windows: Sequence[Window], found: Differing | None, ports: Ports
) -> tuple[Comparison, tuple[Drifted, ...]]:
    """What differs, and where what the copy lacks lies.

    Where each key has one row, few of which differ, only these are looked at; of other tables each row of the windows, as any version that an
    append kept may answer for a row of the source.
    """
    if found is not None and not _holds(spec, ports):
        return by_key(spec, windows, found, ports)
    places = found.places if found else None
    rows = ports.auditor.compare(spec, merge(windows), places)
    where = [windows[number] for number in found.windows] if found and found.windows is not None else windows
    return rows, _drifted(where, rows.missing, lambda window: ports.auditor.compare(spec, (window,), places).missing)


def _holds(spec: TableSpec, ports: Ports) -> bool:
    """Whether rows of the source may be held as they are, and are missing in no copy then."""
    if spec.contract is None:
        return False
    held = ports.quarantine.held(spec)
    return held is None or held.rows > 0


def by_key(
    spec: TableSpec, windows: Sequence[Window], found: Differing, ports: Ports
) -> tuple[Comparison, tuple[Drifted, ...]]:
    """Compare by light queries alone, and name some keys: of rows that the copy lacks or holds differently, else of those that it alone has."""
    rows = Comparison(found.missing, found.extra)
    if found.missing:
        with ports.source_rows(spec).keys(spec) as source:
            rows = replace(rows, missing_keys=_named(spec, source, found.lacking, ports))
    elif found.extra and (copy := ports.by_key.keys(spec)) is not None:
        rows = replace(rows, extra_keys=_named(spec, copy, found.vanished, ports))
    if found.windows is None:
        return rows, _drifted(windows, found.missing, lambda window: _missing(spec, window, found.lacking, ports))
    pieces = {windows[number]: missing for number, missing in found.windows.items()}
    return rows, _drifted(tuple(pieces), found.missing, pieces.__getitem__)


def _named(spec: TableSpec, keys: Keys, at: KeyParts, ports: Ports) -> tuple[str, ...]:
    few = replace(at, numbers=frozenset(sorted(at.numbers or ())[:NAMED]))
    found = keys.as_written(frozenset(sorted(keys.texts(few))[:NAMED]))
    return tuple(ports.by_key.readable(spec, text) for text in sorted(found))


def _missing(spec: TableSpec, window: Window, places: KeyParts, ports: Ports) -> int:
    """Rows of the source in a window, at these places, that the copy lacks or holds differently."""
    copy = ports.by_key.placed_rows(spec, (window,))
    with ports.source_rows(spec).placed_rows(spec, (window,)) as source:
        shown = Counter(source.hashes(places) if source is not None else ())
    return (shown - Counter(copy.hashes(places))).total() if shown else 0


def _drifted(windows: Sequence[Window], rows: int, count: Callable[[Window], int]) -> tuple[Drifted, ...]:
    """How many of the rows each window lacks, one by one until enough are named; the rest of the rows lies in the rest of the windows."""
    if not rows or len(windows) == 1:
        return tuple(Drifted(window, rows) for window in windows if rows)
    drifted: list[Drifted] = []
    for place, window in enumerate(windows, 1):
        missing = count(window)
        if missing:
            drifted.append(Drifted(window, missing))
        left, rest = rows - sum(piece.rows for piece in drifted), windows[place:]
        if len(drifted) == NAMED:
            if rest and left > 0:
                drifted.append(Drifted(Window(rest[0].lower, rest[-1].upper), left))
            break
    return tuple(drifted)
