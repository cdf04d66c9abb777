"""A table's keys, of a database that is asked once for all of them: kept here, so that no snapshot is held while they are compared."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import cached_property
from typing import Self

from incremental_assets.adapters.databases.measure import placed_by_value, text_hash
from incremental_assets.core.model.key_parts import KeyParts, KeySum, summed
from incremental_assets.core.model.table import TableSpec


@dataclass(frozen=True, slots=True)
class ReadKeys:
    """Implements `core.ports.SourceKeys` over the canonical texts of the keys."""

    all: frozenset[str]
    by_value: bool
    storage: tuple[tuple[int, int], ...] = ()
    """Empty: such a database does not tell whether a table was rewritten."""
    written: Mapping[str, str] = field(default_factory=dict)
    """The keys as they are written, by these texts, where rows are told apart by a collation key."""

    @classmethod
    def of(cls, spec: TableSpec, texts: Iterable[str]) -> Self:
        """All of them."""
        return cls(frozenset(texts), placed_by_value(spec))

    @classmethod
    def collated(cls, texts: Mapping[str, str]) -> Self:
        """All of them, with each as it is written."""
        return cls(frozenset(texts), by_value=False, written=texts)

    def sums(self, within: KeyParts, shift: int) -> dict[int, KeySum]:
        """The number of keys and the sum of their hashes by part, of the keys that were read."""
        places = ((self._place(text), text_hash(text)) for text in self.all)
        return summed(((place, digest) for place, digest in places if within.holds(place)), shift)

    def texts(self, within: KeyParts) -> frozenset[str]:
        """The texts of the keys within that were read."""
        return frozenset(text for text in self.all if within.holds(self._place(text)))

    def as_written(self, texts: AbstractSet[str]) -> frozenset[str]:
        """As they were read."""
        return frozenset(self.written.get(text, text) for text in texts)

    def present(self, texts: AbstractSet[str]) -> frozenset[str]:
        """Those of the keys that were read."""
        return self.all & texts

    def by_bytes(self) -> None:
        """They were read."""

    def _place(self, text: str) -> int:
        return int(text) if self.by_value else text_hash(text)


@dataclass(frozen=True)
class KeysOnDemand:
    """Implements `core.ports.SourceKeys`: single keys are asked for, and all are read once more is asked, of which the answers are from then on."""

    read: Callable[[], ReadKeys] = field(repr=False)
    ask: Callable[[AbstractSet[str]], frozenset[str]] = field(repr=False)

    @property
    def storage(self) -> tuple[tuple[int, int], ...]:
        """Empty: see `ReadKeys`."""
        return ()

    def sums(self, within: KeyParts, shift: int) -> dict[int, KeySum]:
        """Of all that were read."""
        return self._all.sums(within, shift)

    def texts(self, within: KeyParts) -> frozenset[str]:
        """Of all that were read."""
        return self._all.texts(within)

    def as_written(self, texts: AbstractSet[str]) -> frozenset[str]:
        """As they were read."""
        return self._all.as_written(texts)

    def present(self, texts: AbstractSet[str]) -> frozenset[str]:
        """Those of the keys that were read, or that are there."""
        return self._all.present(texts) if "_all" in self.__dict__ else self.ask(texts)

    def by_bytes(self) -> None:
        """They are read."""

    @cached_property
    def _all(self) -> ReadKeys:
        return self.read()
