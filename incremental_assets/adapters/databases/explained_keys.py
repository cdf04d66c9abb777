"""A snapshot's keys, whose questions fail in the words of our own errors: they are put while readers of another kind use the snapshot."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from contextlib import AbstractContextManager
from dataclasses import dataclass

from incremental_assets.core.model.key_parts import KeyParts, KeySum
from incremental_assets.core.ports import SourceKeys


@dataclass(frozen=True, slots=True)
class ExplainedKeys:
    """Implements `core.ports.SourceKeys`."""

    asked: SourceKeys
    explained: Callable[[], AbstractContextManager[None]]

    @property
    def storage(self) -> tuple[tuple[int, int], ...]:
        """As it is."""
        with self.explained():
            return self.asked.storage

    def sums(self, within: KeyParts, shift: int) -> Mapping[int, KeySum]:
        """As they are."""
        with self.explained():
            return self.asked.sums(within, shift)

    def texts(self, within: KeyParts) -> frozenset[str]:
        """As they are."""
        with self.explained():
            return self.asked.texts(within)

    def present(self, texts: AbstractSet[str]) -> frozenset[str]:
        """As it is."""
        with self.explained():
            return self.asked.present(texts)
