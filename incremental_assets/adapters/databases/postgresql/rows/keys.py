"""A table's keys, counted and hashed by parts in one snapshot, which the caller holds: its index alone answers where it has all of the key."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from functools import cached_property
from typing import Any

from incremental_assets.adapters.databases.measure import placed_by_value
from incremental_assets.adapters.databases.postgresql.asked import Asked
from incremental_assets.adapters.databases.postgresql.read_from import read_from
from incremental_assets.adapters.databases.postgresql.rows.byte_hash import byte_hash, byte_place, hashes_alike
from incremental_assets.adapters.databases.postgresql.rows.measure import Hashed, row_hash, row_text
from incremental_assets.adapters.databases.postgresql.rows.placed import by_index, keys_within, placed
from incremental_assets.adapters.databases.postgresql.rows.selected_keys import selected_by_index
from incremental_assets.adapters.databases.postgresql.sql import Parameters, column, column_of, relation
from incremental_assets.adapters.databases.postgresql.types import holdable
from incremental_assets.core.model.key_parts import KeyParts, KeySum
from incremental_assets.core.model.table import TableSpec

# What the snapshot's questions have read is locked: the table itself, its partitions and children, and what a view shows. A materialized view has
# another file after each refresh, which is whole.
_STORAGE = """
SELECT c.oid::bigint, coalesce(pg_relation_filenode(c.oid), 0)::bigint
FROM pg_locks AS l JOIN pg_class AS c ON c.oid = l.relation
WHERE l.pid = pg_backend_pid() AND l.locktype = 'relation' AND c.relkind = 'r' AND c.oid >= 16384
ORDER BY 1
"""


class HeldKeys:
    """Implements `core.ports.SourceKeys` over the connection that holds the snapshot."""

    def __init__(self, asked: Asked, spec: TableSpec, hashed: Hashed = row_hash, at: Hashed = row_hash) -> None:
        self._asked, self._spec, self._at = asked, spec, at
        self._columns = [column_of(spec, name) for name in spec.key]
        self._text, self._hash = (holdable(self._columns, words(self._columns)) for words in (row_text, hashed))

    def by_bytes(self) -> HeldKeys | None:
        """The keys by bytes, where this very server hashes as the lake does; else None."""
        return HeldKeys(self._asked, self._spec, byte_hash, byte_place) if hashes_alike(self._asked) else None

    @cached_property
    def storage(self) -> tuple[tuple[int, int], ...]:
        """The oid of every table that was read, and the number of its file."""
        # A question that reads no row locks them as well.
        self._asked.execute(f"SELECT FROM {relation(self._spec.id)} LIMIT 0")
        return tuple((table, file) for table, file in self._asked.execute(_STORAGE).fetchall())

    def sums(self, within: KeyParts, shift: int) -> dict[int, KeySum]:
        """One scan, of the ranges alone where the key's own order has them."""
        by_index(self._asked)
        values = Parameters()
        each, summed = placed(self._spec, self._at), "placed"
        if placed_by_value(self._spec):
            each, summed = f"{each}, {self._hash} AS hashed", "hashed"
        source = keys_within(self._spec, each, within, values, self._at)
        sql = f"SELECT placed >> {shift}, count(*), sum({summed}) FROM {source} GROUP BY 1"
        rows = self._asked.execute(sql, values.values).fetchall()
        return {part: KeySum(count, int(digest)) for part, count, digest in rows if part is not None}

    def texts(self, within: KeyParts) -> frozenset[str]:
        """The canonical text of each key within, but for keys that no copy can hold."""
        values = Parameters()
        source = keys_within(self._spec, f"{self._text} AS text", within, values, self._at)
        return self._texts(f"SELECT text FROM {source}", values.values)

    def present(self, texts: AbstractSet[str]) -> frozenset[str]:
        """Those of the keys that the snapshot shows: found by value where a key is one number, or of types that an index finds by their text; else by the whole text, character by character."""
        if placed_by_value(self._spec):
            found = f"{column(self._spec.key[0])} = ANY(CAST($1 AS bigint[]))"
        elif sought := selected_by_index(self._columns, texts):
            # What the database takes for the same key may be written in another way.
            return (
                self._texts(
                    f"SELECT {self._text} {read_from(self._spec, sought.equal, beside=sought.keys)}", sought.values
                )
                & texts
            )
        else:
            found = f'({self._text}) COLLATE "C" IN (SELECT unnest($1::text[]))'
        return self._texts(f"SELECT {self._text} {read_from(self._spec, found)}", [list(texts)])

    def as_written(self, texts: AbstractSet[str]) -> frozenset[str]:
        """By the key's own columns, of the rows that have these."""
        if self._spec.collation_key is None:
            return frozenset(texts)
        written = row_text(self._spec.key_columns)
        found = f'({self._text}) COLLATE "C" IN (SELECT unnest($1::text[]))'
        return self._texts(f"SELECT {written} {read_from(self._spec, found)}", [list(texts)])

    def _texts(self, sql: str, values: list[Any]) -> frozenset[str]:
        """A key that no copy can hold has none."""
        return frozenset(text for (text,) in self._asked.execute(sql, values) if text is not None)
