"""A table's keys, read in one transaction and then kept here: a file is read faster than it is asked, and is not to be held meanwhile."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from collections.abc import Set as AbstractSet

from incremental_assets.adapters.databases.measure import placed_by_value
from incremental_assets.adapters.databases.sqlite.rows import hashed, row_text
from incremental_assets.adapters.databases.sqlite.sql import identifier, names
from incremental_assets.adapters.databases.sqlite.types import Unfit, converter
from incremental_assets.core.model.key_parts import KeyParts, KeySum, summed
from incremental_assets.core.model.table import TableSpec


class ReadKeys:
    """Implements `core.ports.SourceKeys`. A file does not tell whether a table was written anew."""

    storage: tuple[tuple[int, int], ...] = ()

    def __init__(self, connection: sqlite3.Connection, spec: TableSpec) -> None:
        self._by_value = placed_by_value(spec)
        self._texts = frozenset(_texts(connection, spec))

    def sums(self, within: KeyParts, shift: int) -> dict[int, KeySum]:
        """Of what was read."""
        places = ((self._place(text), hashed(text)) for text in self._texts)
        return summed(((place, digest) for place, digest in places if within.holds(place)), shift)

    def texts(self, within: KeyParts) -> frozenset[str]:
        """Of what was read."""
        return frozenset(text for text in self._texts if within.holds(self._place(text)))

    def present(self, texts: AbstractSet[str]) -> frozenset[str]:
        """Of what was read."""
        return self._texts & texts

    def _place(self, text: str) -> int:
        return int(text) if self._by_value else hashed(text)


def _texts(connection: sqlite3.Connection, spec: TableSpec) -> Iterator[str]:
    """A key with a part that is NULL, or not of its kind, is in no copy."""
    columns = [next(column for column in spec.columns if column.name == name) for name in spec.key]
    converters = [converter(column.spark_type, column.fidelity) for column in columns]
    for stored in connection.execute(f"SELECT {names(spec.key)} FROM {identifier(spec.id.name)}"):
        if None in stored:
            continue
        try:
            values = [convert(value) for value, convert in zip(stored, converters, strict=True)]
        except Unfit:
            continue
        yield row_text(columns, values)
