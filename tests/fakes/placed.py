"""Rows of either side, in memory, by the places of their keys on the line of `core.model.key_parts`."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from incremental_assets.core.model.key_parts import HASH_BITS, KeyParts, KeySpread, KeySum, summed
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.window import Window
from tests.fakes.rows import Row, inside, key_of, own_columns


@dataclass
class FakePlacedRows:
    """Implements `core.ports.PlacedRows`, `Bounded` and `Windowed`. `latest` counts, `every` may answer for a row; `read` counts the rows of which hashes were asked for."""

    spec: TableSpec
    every: Sequence[Row]
    latest: Sequence[Row]
    windows: Sequence[Window] = ()
    read: int = field(default=0, init=False)

    def bounds(self) -> KeySpread | None:
        """As a log tells them."""
        return self.spread() if self.latest and by_value(self.spec, self.latest) else None

    def windowed(self, within: KeyParts) -> list[tuple[int, int, int]] | None:
        """Of each row, where it has windows."""
        if not self.windows:
            return None
        found = [
            (*pair, number)
            for number, window in enumerate(self.windows)
            for row in self.every
            if self.spec.read_by is None or inside(self.spec, window, row, nulls=False)
            for pair in _pairs(self.spec, [row], within)
        ]
        self.read += len(found)
        return found

    def spread(self) -> KeySpread:
        """By value where the key is a whole number."""
        places = [place_of(self.spec, row) for row in self.latest]
        if not places or not by_value(self.spec, self.latest):
            return KeySpread(len(places), 0, (1 << HASH_BITS) - 1)
        return KeySpread(len(places), min(places), max(places))

    def sums(self, within: KeyParts, shift: int) -> dict[int, KeySum]:
        """By part."""
        return summed(_pairs(self.spec, self.latest, within), shift)

    def hashes(self, within: KeyParts) -> list[tuple[int, int]]:
        """Of each row."""
        found = _pairs(self.spec, self.every, within)
        self.read += len(found)
        return found


def place_of(spec: TableSpec, row: Row) -> int:
    """The key's value where it is one whole number, else the hash of the key, or of the row."""
    if by_value(spec, [row]):
        return int(str(key_of(spec, row)[0]))
    return _hash(key_of(spec, row) if spec.key else sorted(own_columns(row).items()))


def by_value(spec: TableSpec, rows: Iterable[Row]) -> bool:
    """Whether the key is one whole number."""
    return len(spec.key) == 1 and all(isinstance(key_of(spec, row)[0], int) for row in rows)


def _pairs(spec: TableSpec, rows: Sequence[Row], within: KeyParts) -> list[tuple[int, int]]:
    pairs = ((place_of(spec, row), _hash(sorted(own_columns(row).items()))) for row in rows)
    return [(place, digest) for place, digest in pairs if within.holds(place)]


def _hash(value: object) -> int:
    return int(hashlib.md5(repr(value).encode(), usedforsecurity=False).hexdigest()[:15], 16)
