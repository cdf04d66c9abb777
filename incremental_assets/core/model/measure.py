"""Counts and hashes of one window, computed in the same way on both sides."""

from __future__ import annotations

from dataclasses import dataclass

from incremental_assets.core.model.window import Window


@dataclass(frozen=True, slots=True)
class Measure:
    """Rows of a window and the sum of their hashes, which does not depend on their order. `digest` is decimal text."""

    window: Window
    rows: int
    digest: str


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
