"""Which rows differ between a copy and its source: counted and hashed by parts of the key's line, read as hashes only where few are left. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from incremental_assets.core.model.key_parts import (
    FEW,
    MOST_PARTS,
    KeyParts,
    KeySpread,
    coarse,
    everywhere,
    finer,
    rows_in,
    unlike,
)
from incremental_assets.core.model.measure import NotByBytes
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.window import Window
from incremental_assets.core.ports import ByteHashed, PlacedRows, Ports

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


def differing_now(spec: TableSpec, windows: Sequence[Window], ports: Ports) -> Differing | None:
    """Of some windows; None where the rows are too many to be named, or the source cannot tell them by their keys."""
    copy = ports.by_key.placed_rows(spec, windows)
    with ports.probe.placed_rows(spec, windows) as source:
        return None if source is None else differing(spec, copy, source)


def differing(spec: TableSpec, copy: PlacedRows, source: PlacedRows) -> Differing | None:
    """None where more rows differ than are worth naming. The copy's version was chosen before the source's snapshot."""
    if isinstance(copy, ByteHashed) and isinstance(source, ByteHashed):
        here, there = copy.by_bytes(), source.by_bytes()
        if here is not None and there is not None:
            with suppress(NotByBytes):
                return _differing(spec, here, there)
    return _differing(spec, copy, source)


def _differing(spec: TableSpec, copy: PlacedRows, source: PlacedRows) -> Differing | None:
    spread = _hull(copy.spread(), source.spread())
    parts, rows, shift = everywhere(spread), spread.rows, coarse(spread)
    while rows > FEW:
        here, there = copy.sums(parts, shift), source.sums(parts, shift)
        parts = unlike(parts, shift, here, there)
        unequal = len(parts.numbers or ())
        if unequal > MOST_PARTS:
            return None
        rows = rows_in(parts, here, there)
        if shift == 0:
            break
        shift = finer(shift, unequal, rows)
    held, shown = Counter(copy.hashes(parts)), Counter(source.hashes(parts))
    missing, extra = shown - held, held - shown
    sought = _sought(spec, missing, extra)
    if len(sought) > MOST_PLACES:
        return None
    places = KeyParts(spread.lowest, spread.highest, 0, frozenset(sought))
    # Of keys that share a place one may have changed and another vanished.
    vanished = frozenset(_by_place(extra) - _by_place(missing))
    lacking = frozenset(_by_place(missing))
    return Differing(
        missing.total(), extra.total(), places, replace(places, numbers=lacking), replace(places, numbers=vanished)
    )


def _sought(spec: TableSpec, missing: Counter[tuple[int, int]], extra: Counter[tuple[int, int]]) -> set[int]:
    """The places of what is to be read: what only a copy of versions has is an older version, or a row that is gone."""
    return {place for place, _ in (missing if spec.traits.keeps_versions else missing + extra)}


def _by_place(rows: Counter[tuple[int, int]]) -> Counter[int]:
    return Counter(place for place, _ in rows.elements())


def _hull(one: KeySpread, other: KeySpread) -> KeySpread:
    """Of both sides; the ends of one that holds nothing say nothing."""
    if not (one.rows and other.rows):
        return one if one.rows else other
    return KeySpread(max(one.rows, other.rows), min(one.lowest, other.lowest), max(one.highest, other.highest))
