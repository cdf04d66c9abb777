"""A table's keys, read in one statement and then kept here, so that no view is held while they are compared."""

from __future__ import annotations

import hashlib
from collections.abc import Set as AbstractSet

from incremental_assets.adapters.databases.measure import placed_by_value
from incremental_assets.adapters.databases.mysql.connect import Connection
from incremental_assets.adapters.databases.mysql.questions import key_texts_sql
from incremental_assets.core.model.key_parts import KeyParts, KeySum, summed
from incremental_assets.core.model.table import TableSpec


class ReadKeys:
    """Implements `core.ports.SourceKeys`. The server does not tell whether a table was written anew."""

    storage: tuple[tuple[int, int], ...] = ()

    def __init__(self, connection: Connection, spec: TableSpec) -> None:
        self._by_value = placed_by_value(spec)
        self._texts = frozenset(str(text) for (text,) in connection.rows(key_texts_sql(spec)))

    def sums(self, within: KeyParts, shift: int) -> dict[int, KeySum]:
        """Of what was read."""
        places = ((self._place(text), _hashed(text)) for text in self._texts)
        return summed(((place, digest) for place, digest in places if within.holds(place)), shift)

    def texts(self, within: KeyParts) -> frozenset[str]:
        """Of what was read."""
        return frozenset(text for text in self._texts if within.holds(self._place(text)))

    def present(self, texts: AbstractSet[str]) -> frozenset[str]:
        """Of what was read."""
        return self._texts & texts

    def _place(self, text: str) -> int:
        return int(text) if self._by_value else _hashed(text)


def _hashed(text: str) -> int:
    """As `row_hash` of `questions.py` computes it in SQL."""
    return int(hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()[:15], 16)
