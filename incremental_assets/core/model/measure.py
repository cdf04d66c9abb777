"""Counts and hashes of one window, computed in the same way on both sides."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from incremental_assets.core.model.window import Window


class RowHash(StrEnum):
    """What stands for a row: both sides have to take the same."""

    TEXT = "text"
    """The hash of the row as one text: every source and every lake computes it."""
    BYTES = "bytes"
    """The hash of the bytes of its values: several times cheaper, where both sides know it."""


@dataclass(frozen=True, slots=True)
class Measure:
    """Rows of a window and the sum of their hashes, which does not depend on their order. `digest` is decimal text."""

    window: Window
    rows: int
    digest: str
    by: RowHash = RowHash.TEXT


@dataclass(frozen=True, slots=True)
class Counting:
    """One version of a copy that is still to be counted, in any thread. What is counted tells its hash, which is `by` unless something fails on the way."""

    by: RowHash
    count: Callable[[], tuple[Measure, ...]]

    def __call__(self) -> tuple[Measure, ...]:
        """Count it."""
        return self.count()


class NotByBytes(Exception):
    """A side that was to hash rows by their bytes cannot do so after all."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Row by row: what the source has and the lake lacks or holds differently, and what only the lake has. At most ten keys each."""

    missing: int
    extra: int
    missing_keys: tuple[str, ...] = ()
    extra_keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Outdated:
    """Rows of a target whose row in the source has since changed to what cannot land, and at most ten of their keys."""

    rows: int
    samples: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Duplicates:
    """Keys that a table holds more than once, the rows beyond the first of each, and at most ten of the keys."""

    keys: int
    rows: int
    samples: tuple[str, ...] = ()
