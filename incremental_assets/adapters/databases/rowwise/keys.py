"""A table's keys, read in one statement and then kept here, so that no snapshot is held while they are compared."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Self

from incremental_assets.adapters.databases.measure import placed_by_value
from incremental_assets.adapters.databases.rowwise.queries import key_texts
from incremental_assets.adapters.databases.rowwise.rows import hashed
from incremental_assets.adapters.databases.rowwise.tongue import Link, Tongue
from incremental_assets.core.model.key_parts import KeyParts, KeySum, summed
from incremental_assets.core.model.table import TableSpec


@dataclass(frozen=True, slots=True)
class ReadKeys:
    """Implements `core.ports.SourceKeys` over the canonical texts of the keys."""

    all: frozenset[str]
    by_value: bool
    storage: tuple[tuple[int, int], ...] = ()
    """Empty: such a database does not tell whether a table was rewritten."""

    @classmethod
    def of(cls, tongue: Tongue, link: Link, spec: TableSpec) -> Self:
        """All of them."""
        return cls(frozenset(key_texts(tongue, link, spec)), placed_by_value(spec))

    def sums(self, within: KeyParts, shift: int) -> dict[int, KeySum]:
        """Of what was read."""
        places = ((self._place(text), hashed(text)) for text in self.all)
        return summed(((place, digest) for place, digest in places if within.holds(place)), shift)

    def texts(self, within: KeyParts) -> frozenset[str]:
        """Of what was read."""
        return frozenset(text for text in self.all if within.holds(self._place(text)))

    def present(self, texts: AbstractSet[str]) -> frozenset[str]:
        """Of what was read."""
        return self.all & texts

    def _place(self, text: str) -> int:
        return int(text) if self.by_value else hashed(text)
