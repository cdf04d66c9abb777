"""Keys that were erased from a copy: the source may still have their rows, and no comparison misses them."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import Protocol

from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.table_id import TableId


class Erasures(Protocol):
    """Raises LakeRefused where nobody can tell which keys they are."""

    def has(self, table: TableId) -> bool:
        """Whether any were erased from a table."""

    def among(self, spec: TableSpec, texts: AbstractSet[str]) -> frozenset[str]:
        """Those of some keys, by their canonical texts, that were."""
