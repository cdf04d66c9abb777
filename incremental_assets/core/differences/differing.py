"""Finds which rows differ between a copy and its source: counted and hashed by parts of the key's line, read as hashes only where few are left. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TypeVar

from incremental_assets.core.concurrency.background import side_by_side
from incremental_assets.core.model.key_parts import (
    ANYWHERE,
    FEW,
    MOST_PARTS,
    KeyParts,
    KeySpread,
    KeySum,
    coarse,
    everywhere,
    finer,
    rows_in,
    unlike,
)
from incremental_assets.core.model.measure import NotByBytes
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.window import Window
from incremental_assets.core.ports import Bounded, ByteHashed, PlacedRows, Ports, Windowed

Answer = TypeVar("Answer")

MOST_PLACES = 20_000
"""Rows that are asked for by their keys; of more of them the windows are read whole."""


@dataclass(frozen=True, slots=True)
class Differing:
    """`missing`: rows of the source that the copy lacks or holds differently. `extra`: rows that only the copy has."""

    missing: int
    extra: int
    places: KeyParts
    """Where their keys lie on the line."""
    lacking: KeyParts
    """Those of the places where the source has a row that the copy lacks or holds differently."""
    vanished: KeyParts
    """Those of the places where the copy alone has a row."""
    rows: int
    """The rows of the source, those that are equal included."""
    there: int
    """The rows among these that are at the places."""
    windows: Mapping[int, int] | None
    """How many rows of the source are missing in each window that lacks any, by its number; None where the source does not tell."""
    erased: int = 0
    """The rows of the source, among those that are equal, whose keys were erased from the copy."""


def differing_now(spec: TableSpec, windows: Sequence[Window], ports: Ports) -> Differing | None:
    """What differs in some windows; None where the rows are too many to be named, or the source cannot tell them by their keys."""
    copy = ports.by_key.placed_rows(spec, windows)
    with ports.source_rows(spec).placed_rows(spec, windows) as source:
        return None if source is None else differing(spec, copy, source)


def bounds_of(spec: TableSpec, copy: PlacedRows, ports: Ports) -> KeySpread | None:
    """How many rows a large copy has at most, and between which places they and the source's lie, without a look at any of them; None for a small copy, and where that is not known."""
    here = copy.bounds() if spec.key_enforced and isinstance(copy, Bounded) else None
    there = ports.source_rows(spec).key_ends(spec) if here is not None and here.rows > FEW else None
    if here is None or there is None:
        return None
    return KeySpread(here.rows, min(here.lowest, there[0]), max(here.highest, there[1]))


def differing(
    spec: TableSpec, copy: PlacedRows, source: PlacedRows, bounds: KeySpread | None = None
) -> Differing | None:
    """What differs; None where more rows or parts differ than are worth naming. The copy's version was chosen before the source's snapshot.

    `bounds`: see `bounds_of`; None: both sides are asked where they lie.
    """
    return _hashed_alike(copy, source, lambda here, there: _differing(spec, here, there, bounds))


def differing_at(spec: TableSpec, windows: Sequence[Window], places: KeyParts, ports: Ports) -> Differing | None:
    """What differs of the rows of some windows at these places alone; None where more rows differ than are worth naming, or the source cannot tell them by their keys."""
    copy = ports.by_key.placed_rows(spec, windows)
    with ports.source_rows(spec).placed_rows(spec, windows) as source:
        if source is None:
            return None
        return _hashed_alike(copy, source, lambda here, there: _of_rows(spec, places, _rows(here, there, places)))


def without(found: Differing, places: AbstractSet[int]) -> Differing:
    """What differs at other places alone."""
    lacking, vanished, all_places = (
        replace(each, numbers=(each.numbers or frozenset()) - places)
        for each in (found.lacking, found.vanished, found.places)
    )
    missing, extra = len(lacking.numbers or ()), len(vanished.numbers or ())
    return replace(
        found, missing=missing, extra=extra, places=all_places, lacking=lacking, vanished=vanished, windows=None
    )


def _hashed_alike(copy: PlacedRows, source: PlacedRows, ask: Callable[[PlacedRows, PlacedRows], Answer]) -> Answer:
    if isinstance(copy, ByteHashed) and isinstance(source, ByteHashed):
        here, there = copy.by_bytes(), source.by_bytes()
        if here is not None and there is not None:
            with suppress(NotByBytes):
                return ask(here, there)
    return ask(copy, source)


def _differing(spec: TableSpec, copy: PlacedRows, source: PlacedRows, bounds: KeySpread | None) -> Differing | None:
    spread = bounds or _hull(*side_by_side(copy.spread, source.spread))
    # What has come since the bounds were read may lie beyond them.
    parts = whole = ANYWHERE if bounds else everywhere(spread)
    rows, shift, all_rows = spread.rows, coarse(spread), None
    while rows > FEW:
        here, there = _sums(copy, source, parts, shift)
        if all_rows is None:
            all_rows = sum(each.rows for each in there.values())
        parts = unlike(parts, shift, here, there)
        unequal = len(parts.numbers or ())
        if not unequal:
            return _of_rows(spec, whole, _NO_ROWS, all_rows)
        if unequal > MOST_PARTS:
            return None
        rows = rows_in(parts, here, there)
        if shift == 0:
            break
        shift = finer(shift, unequal, rows)
    return _of_rows(spec, whole, _rows(copy, source, parts), all_rows)


_Row = tuple[int, int]
"""Its place and its hash."""
_Numbers = Mapping[_Row, int] | None
"""The number of the window of each row of the source, where it tells."""
_Rows = tuple[Counter[_Row], tuple[Counter[_Row], _Numbers]]
"""How often each side has each row."""
_NO_ROWS: _Rows = (Counter(), (Counter(), {}))


def _of_rows(spec: TableSpec, whole: KeyParts, rows: _Rows, all_rows: int | None = None) -> Differing | None:
    """`all_rows`: of the source; None: those that were read."""
    held, (shown, numbers) = rows
    missing, extra = shown - held, held - shown
    to_read = _to_read(spec, missing, extra)
    if len(to_read) > MOST_PLACES:
        return None
    places = KeyParts(whole.lowest, whole.highest, 0, frozenset(to_read))
    # Of keys that share a place one may have changed and another vanished.
    vanished = frozenset(_by_place(extra) - _by_place(missing))
    lacking = frozenset(_by_place(missing))
    return Differing(
        missing.total(),
        extra.total(),
        places,
        replace(places, numbers=lacking),
        replace(places, numbers=vanished),
        shown.total() if all_rows is None else all_rows,
        sum(count for (place, _), count in shown.items() if place in to_read),
        _by_window(missing, numbers),
    )


def _sums(
    copy: PlacedRows, source: PlacedRows, parts: KeyParts, shift: int
) -> tuple[Mapping[int, KeySum], Mapping[int, KeySum]]:
    return side_by_side(lambda: copy.sums(parts, shift), lambda: source.sums(parts, shift))


def _rows(copy: PlacedRows, source: PlacedRows, parts: KeyParts) -> _Rows:
    return side_by_side(lambda: Counter(copy.hashes(parts)), lambda: _shown(source, parts))


def _shown(source: PlacedRows, parts: KeyParts) -> tuple[Counter[_Row], _Numbers]:
    """A row lies in one window alone: its hash is that of its cursor too."""
    windowed = source.windowed(parts) if isinstance(source, Windowed) else None
    if windowed is None:
        return Counter(source.hashes(parts)), None
    return Counter((place, digest) for place, digest, _ in windowed), {
        (place, digest): number for place, digest, number in windowed
    }


def _by_window(missing: Counter[_Row], numbers: _Numbers) -> Mapping[int, int] | None:
    if numbers is None:
        return None
    found = Counter[int]()
    for row, count in missing.items():
        found[numbers[row]] += count
    return dict(sorted(found.items()))


def _to_read(spec: TableSpec, missing: Counter[tuple[int, int]], extra: Counter[tuple[int, int]]) -> set[int]:
    """The places of what is to be read: what only a copy of versions has is an older version, or a row that is gone."""
    return {place for place, _ in (missing if spec.traits.keeps_versions else missing + extra)}


def _by_place(rows: Counter[tuple[int, int]]) -> Counter[int]:
    return Counter(place for place, _ in rows.elements())


def _hull(one: KeySpread, other: KeySpread) -> KeySpread:
    """The spread of both sides; the ends of one that holds nothing say nothing."""
    if not (one.rows and other.rows):
        return one if one.rows else other
    return KeySpread(max(one.rows, other.rows), min(one.lowest, other.lowest), max(one.highest, other.highest))
