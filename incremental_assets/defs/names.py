"""Keys and names in Dagster. A key holds the source's own spelling; names of ops, outputs and jobs allow letters, digits and `_` only."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from dagster import AssetKey

from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.model.verdict import Check


@dataclass(frozen=True)
class AssetKeys:
    """The keys of copies and histories: `[source, schema, table]`, or what `translation` makes of it."""

    translated: Mapping[AssetKey, AssetKey] = field(default_factory=dict)
    """By what they would be without."""

    def of(self, table: TableId) -> AssetKey:
        """The copy in the lake, or a history by its own name."""
        return self.translated.get(usual := usual_key(table), usual)

    def checked(self, table: TableId, check: Check) -> AssetKey:
        """The asset that a check is about: the copy, or the history beside it."""
        return self.of(table.history if check.is_of_history else table)

    def table(self, key: AssetKey) -> TableId:
        """The inverse of `of`."""
        source, schema, name = self._usual.get(key, key).path
        return TableId(source, schema, name)

    @cached_property
    def _usual(self) -> Mapping[AssetKey, AssetKey]:
        return {key: usual for usual, key in self.translated.items()}


def usual_key(table: TableId) -> AssetKey:
    """`[source, schema, table]`."""
    return AssetKey([table.source, table.schema, table.name])


def source_key(table: TableId) -> AssetKey:
    """`[source, "source", schema, table]`: the table in the database."""
    return AssetKey([table.source, "source", table.schema, table.name])


def plain(*parts: str) -> str:
    """One name out of several. Where a character is lost, a hash keeps it apart from names that lose another one."""
    text = "__".join(parts)
    safe = re.sub(r"[^A-Za-z0-9_]", "_", text)
    return safe if safe == text else f"{safe}_{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def pool(source: str) -> str:
    """One sync at a time per source: `parallel` is then true across runs as well."""
    return f"source_{source}"


def check_pool(source: str) -> str:
    """One check at a time per source, apart from its syncs: a check reads whole tables and would delay them."""
    return f"source_{source}_checks"
