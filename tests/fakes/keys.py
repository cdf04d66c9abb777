"""Keys of either side, in memory, by their places on the line of `core.model.key_parts`."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from incremental_assets.core.model.key_parts import HASH_BITS, KeyParts, KeySpread, KeySum, summed
from incremental_assets.core.model.table import TableSpec
from tests.fakes.rows import Row, is_fit, key_of


@dataclass
class FakeKeys:
    """Implements `core.ports.SourceKeys` and `CopyKeys`. `read` counts the keys whose texts were asked for."""

    keys: frozenset[tuple[object, ...]]
    names: tuple[str, ...] = ("id",)
    storage: tuple[tuple[int, int], ...] = ()
    written: Mapping[tuple[object, ...], tuple[object, ...]] = field(default_factory=dict)
    """Keys as they are written, by these, where rows are told apart by a collation key."""
    dead: frozenset[tuple[object, ...]] = frozenset()
    """Of rows of a copy that are marked as gone and are to leave it."""
    read: int = field(default=0, init=False)

    @classmethod
    def of(cls, spec: TableSpec, rows: Iterable[Row], storage: tuple[tuple[int, int], ...] = ()) -> FakeKeys:
        """Whole keys that a lake can hold, whatever else is in their rows."""
        written = {key_of(spec, row): {name: row[name] for name in spec.named_key} for row in rows}
        keys = {key: tuple(named.values()) for key, named in written.items() if is_fit(named)}
        whole = {key: written for key, written in keys.items() if None not in key}
        return cls(frozenset(whole), spec.key, storage, whole)

    def spread(self) -> KeySpread:
        """By value where all are whole numbers."""
        if not self.keys or not self._by_value:
            return KeySpread(len(self.keys), 0, (1 << HASH_BITS) - 1, by_hash=not self._by_value)
        places = self._places.values()
        return KeySpread(len(places), min(places), max(places))

    def sums(self, within: KeyParts, shift: int) -> dict[int, KeySum]:
        """By part."""
        return summed(((self._places[key], _hash(text_of(key))) for key in self._within(within)), shift)

    def texts(self, within: KeyParts) -> frozenset[str]:
        """Of each key."""
        found = frozenset(text_of(key) for key in self._within(within))
        self.read += len(found)
        return found

    def as_written(self, texts: AbstractSet[str]) -> frozenset[str]:
        """By the key's own columns."""
        texts_of = {text_of(key): text_of(written) for key, written in self.written.items()}
        return frozenset(texts_of.get(text, text) for text in texts)

    def present(self, texts: AbstractSet[str]) -> frozenset[str]:
        """Those that are there."""
        return frozenset(text_of(key) for key in self.keys) & texts

    def marked(self) -> frozenset[str]:
        """Their texts."""
        return frozenset(text_of(key) for key in self.dead)

    def rows(self, texts: AbstractSet[str]) -> list[Row]:
        """Rows that hold nothing but their key."""
        return [
            dict(zip(self.names, key, strict=True))
            for key in sorted(self.keys | self.dead, key=repr)
            if text_of(key) in texts
        ]

    def by_bytes(self) -> FakeKeys | None:
        """Hashed as they are."""
        return None

    @functools.cached_property
    def _by_value(self) -> bool:
        return all(len(key) == 1 and isinstance(key[0], int) for key in self.keys)

    @functools.cached_property
    def _places(self) -> dict[tuple[object, ...], int]:
        return {key: int(str(key[0])) if self._by_value else _hash(text_of(key)) for key in self.keys}

    def _within(self, within: KeyParts) -> list[tuple[object, ...]]:
        return [key for key, place in self._places.items() if within.holds(place)]


def text_of(key: tuple[object, ...]) -> str:
    """The canonical text of a key."""
    return repr(key)


def _hash(text: str) -> int:
    return int(hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()[:15], 16)
