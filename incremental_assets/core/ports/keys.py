"""The keys and rows of one table, of both sides, by their places on a line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Protocol, runtime_checkable

from incremental_assets.core.model.key_parts import KeyParts, KeySpread, KeySum, Selected


class Keys(Protocol):
    """The keys of one table in one snapshot or at one version, by their places on a line; see `core.model.key_parts`."""

    def sums(self, within: KeyParts, shift: int) -> Mapping[int, KeySum]:
        """Keys and hashes by part, of those `within`; a part holds the places that are equal without their last `shift` bits."""

    def texts(self, within: KeyParts) -> frozenset[str]:
        """The canonical text of each key `within`."""

    def as_written(self, texts: AbstractSet[str]) -> frozenset[str]:
        """The canonical texts of the same keys as they are written, where rows are told apart by a collation key; else these texts."""


class SourceKeys(Keys, Protocol):
    """The keys of a snapshot of the source: of every row that it shows, whether a sync reads it or not."""

    @property
    def storage(self) -> tuple[tuple[int, int], ...]:
        """See `KeysCompared`; empty where the source does not tell."""

    def present(self, texts: AbstractSet[str]) -> frozenset[str]:
        """Those of the keys that the snapshot shows, looked for by their texts alone."""

    def by_bytes(self) -> SourceKeys | None:
        """The same keys, placed and summed up by the hash of their bytes, several times cheaper than that of their texts; None where it cannot."""


class CopyKeys(Keys, Protocol):
    """The keys of one version of the copy: of the rows in it that are not marked as gone."""

    def spread(self) -> KeySpread:
        """How many there are, and between which places."""

    def marked(self) -> frozenset[str]:
        """The canonical texts of the keys of rows that are marked as gone, in a copy that is to keep no such row; else none."""

    def rows(self, texts: AbstractSet[str]) -> Any:
        """The key's columns of these keys, whose texts were read, as the stage takes them (a table of Arrow, or the fake's list)."""

    def by_bytes(self) -> CopyKeys | None:
        """The same keys by the hash of their bytes, as `SourceKeys.by_bytes`; None where it cannot. Its methods may raise NotByBytes; keys that it has read are known here as well."""


class PlacedRows(Protocol):
    """The rows of some windows that a copy can hold, in one snapshot or at one version, by the places of their keys.

    The place of a row without a key is its hash.
    """

    def spread(self) -> KeySpread:
        """How many there are, and between which places."""

    def sums(self, within: KeyParts, shift: int) -> Mapping[int, KeySum]:
        """Rows and hashes of whole rows by part, of those `within`; of a copy that keeps versions the latest of each key."""

    def hashes(self, within: KeyParts) -> Sequence[tuple[int, int]]:
        """Place and hash of each row `within`; of a copy that keeps versions all of them."""


@runtime_checkable
class ByteHashed(Protocol):
    """What a side may offer beside: the hash of a row's bytes, several times cheaper than that of its text, which counts where both sides have it."""

    def by_bytes(self) -> PlacedRows | None:
        """The same rows at the same places, hashed so; None where this side cannot. What it is asked raises NotByBytes."""


@runtime_checkable
class Bounded(Protocol):
    """What a copy may offer beside: where its rows lie, without a look at any of them."""

    def bounds(self) -> KeySpread | None:
        """The most rows that there are, and ends that none of them lies beyond; None where only a look tells."""


@runtime_checkable
class Windowed(Protocol):
    """What a source may offer beside: the windows of its rows, of those that were asked for."""

    def windowed(self, within: KeyParts) -> Sequence[tuple[int, int, int]] | None:
        """Place and hash of each row `within`, and the number of its window; None where this side cannot tell."""


class Seek(Protocol):
    """Compares what it is shown with a copy."""

    def __call__(self, rows: PlacedRows, /) -> Selected:
        """The places of the rows that differ."""
