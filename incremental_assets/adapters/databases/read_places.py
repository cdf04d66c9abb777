"""Rows by the places of their keys, of a database that is asked once for all of their hashes: counted here."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

from incremental_assets.core.model.key_parts import KeyParts, KeySpread, KeySum, summed


@dataclass(frozen=True, slots=True)
class ReadPlaces:
    """Implements `core.ports.PlacedRows` over the place and the hash of each row."""

    pairs: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, pairs: Iterable[tuple[int, int]]) -> Self:
        """All of them."""
        return cls(tuple(pairs))

    def spread(self) -> KeySpread:
        """The number of rows that were read, and the ends of their places."""
        places = [place for place, _ in self.pairs]
        return KeySpread(len(places), min(places, default=0), max(places, default=0))

    def sums(self, within: KeyParts, shift: int) -> dict[int, KeySum]:
        """The number of rows and the sum of their hashes by part, of the rows that were read."""
        return summed(self.hashes(within), shift)

    def hashes(self, within: KeyParts) -> list[tuple[int, int]]:
        """Place and hash of each row within that was read."""
        return [(place, digest) for place, digest in self.pairs if within.holds(place)]
