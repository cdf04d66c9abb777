"""A snapshot's keys and rows whose queries raise errors of `core.errors`: they are asked while Spark's readers, with errors of another kind, use the snapshot."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import AbstractContextManager
from dataclasses import dataclass

from incremental_assets.core.model.key_parts import KeyParts, KeySpread, KeySum
from incremental_assets.core.ports import ByteHashed, PlacedRows, SourceKeys, Windowed


@dataclass(frozen=True, slots=True)
class ExplainedKeys:
    """Implements `core.ports.SourceKeys`."""

    asked: SourceKeys
    explained: Callable[[], AbstractContextManager[None]]

    @property
    def storage(self) -> tuple[tuple[int, int], ...]:
        """The storage; an error is explained."""
        with self.explained():
            return self.asked.storage

    def sums(self, within: KeyParts, shift: int) -> Mapping[int, KeySum]:
        """The sums; an error is explained."""
        with self.explained():
            return self.asked.sums(within, shift)

    def texts(self, within: KeyParts) -> frozenset[str]:
        """The texts; an error is explained."""
        with self.explained():
            return self.asked.texts(within)

    def as_written(self, texts: AbstractSet[str]) -> frozenset[str]:
        """The texts as they are written; an error is explained."""
        with self.explained():
            return self.asked.as_written(texts)

    def present(self, texts: AbstractSet[str]) -> frozenset[str]:
        """The keys that are there; an error is explained."""
        with self.explained():
            return self.asked.present(texts)

    def by_bytes(self) -> SourceKeys | None:
        """The keys by bytes; their errors are explained as well."""
        with self.explained():
            found = self.asked.by_bytes()
        return ExplainedKeys(found, self.explained) if found else None


@dataclass(frozen=True, slots=True)
class ExplainedRows:
    """Implements `core.ports.PlacedRows`."""

    asked: PlacedRows
    explained: Callable[[], AbstractContextManager[None]]

    def spread(self) -> KeySpread:
        """The spread; an error is explained."""
        with self.explained():
            return self.asked.spread()

    def sums(self, within: KeyParts, shift: int) -> Mapping[int, KeySum]:
        """The sums; an error is explained."""
        with self.explained():
            return self.asked.sums(within, shift)

    def hashes(self, within: KeyParts) -> Sequence[tuple[int, int]]:
        """The place and hash of each row; an error is explained."""
        with self.explained():
            return self.asked.hashes(within)

    def windowed(self, within: KeyParts) -> Sequence[tuple[int, int, int]] | None:
        """The place, hash and window of each row; an error is explained."""
        with self.explained():
            return self.asked.windowed(within) if isinstance(self.asked, Windowed) else None

    def by_bytes(self) -> PlacedRows | None:
        """The rows by bytes; their errors are explained as well."""
        with self.explained():
            found = self.asked.by_bytes() if isinstance(self.asked, ByteHashed) else None
        return ExplainedRows(found, self.explained) if found else None
