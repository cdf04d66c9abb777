"""A table's keys, counted and hashed by parts in one snapshot, which the caller holds: its index alone answers where it has all of the key."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property
from typing import Any

import psycopg

from incremental_assets.adapters.databases.measure import placed_by_value
from incremental_assets.adapters.databases.postgresql.measure import row_hash, row_text
from incremental_assets.adapters.databases.postgresql.sql import column, column_of, relation
from incremental_assets.adapters.databases.postgresql.types import unholdable
from incremental_assets.core.model.key_parts import KeyParts, KeySum
from incremental_assets.core.model.table import Column, TableSpec

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

    def __init__(self, asked: psycopg.RawCursor[Any], spec: TableSpec) -> None:
        self._asked, self._spec = asked, spec
        columns = [column_of(spec, name) for name in spec.key]
        self._text, self._hash = (holdable(columns, words(columns)) for words in (row_text, row_hash))

    @cached_property
    def storage(self) -> tuple[tuple[int, int], ...]:
        """Of every table that was read, the number of its file."""
        # A question that reads no row locks them as well.
        self._asked.execute(f"SELECT FROM {relation(self._spec.id)} LIMIT 0")
        return tuple((table, file) for table, file in self._asked.execute(_STORAGE).fetchall())

    def sums(self, within: KeyParts, shift: int) -> dict[int, KeySum]:
        """One scan, of the ranges alone where the key's own order has them."""
        by_index(self._asked)
        sql, values = self._from(within)
        rows = self._asked.execute(
            f"SELECT {self._place} >> {shift}, count(*), sum({self._hash}) {sql} GROUP BY 1", values
        ).fetchall()
        return {part: KeySum(count, int(digest)) for part, count, digest in rows if part is not None}

    def texts(self, within: KeyParts) -> frozenset[str]:
        """As `sums` finds them."""
        sql, values = self._from(within)
        return self._texts(f"SELECT {self._text} {sql}", values)

    def present(self, texts: AbstractSet[str]) -> frozenset[str]:
        """By its value where that is one number, else by its text, letter by letter."""
        if placed_by_value(self._spec):
            found = f"{column(self._spec.key[0])} = ANY(CAST($1 AS bigint[]))"
        else:
            found = f'({self._text}) COLLATE "C" IN (SELECT unnest($1::text[]))'
        return self._texts(f"SELECT {self._text} FROM {relation(self._spec.id)} WHERE {found}", [list(texts)])

    def _texts(self, sql: str, values: list[Any]) -> frozenset[str]:
        """A key that no copy can hold has none."""
        return frozenset(text for (text,) in self._asked.execute(sql, values) if text is not None)

    @property
    def _place(self) -> str:
        if placed_by_value(self._spec):
            return f"CAST({column(self._spec.key[0])} AS bigint)"
        return self._hash

    def _from(self, within: KeyParts) -> tuple[str, list[Any]]:
        """FROM and WHERE of the ranges; NULL is in no key of a copy."""
        table, ranges = relation(self._spec.id), within.ranges
        lows, highs = [low for low, _ in ranges], [high for _, high in ranges]
        if not placed_by_value(self._spec):
            if within.numbers is None:
                return f"FROM {table}", []
            place = f"width_bucket({self._place}, $1::bigint[])"
            return f"FROM {table} WHERE {self._place} <= ($2::bigint[])[{place}]", [lows, highs]
        own = column(self._spec.key[0])
        if len(ranges) == 1:
            return f"FROM {table} WHERE {own} BETWEEN $1::bigint AND $2::bigint", [lows[0], highs[0]]
        # From range to range by the index, where a list of conditions would be put to every row.
        spans = "unnest($1::bigint[], $2::bigint[]) AS r(low, high)"
        return f"FROM {spans} JOIN {table} ON {own} BETWEEN r.low AND r.high", [lows, highs]


def by_index(asked: psycopg.RawCursor[Any]) -> None:
    """Until the transaction ends, have the planner see what keys cost that are read in their order, and count parts without sorting them."""
    # The leaves of an index are read one after the other, and are taken for pages at random: a scan of a narrow table seems to cost less than its index.
    asked.execute(
        "SELECT set_config('random_page_cost', current_setting('seq_page_cost'), true), set_config('enable_sort', 'off', true)"
    )


def holdable(columns: Sequence[Column], words: str) -> str:
    """What is said of a key, NULL where Spark cannot hold it: of an infinite moment there are no microseconds."""
    conditions = [bad.condition for bad in map(unholdable, columns) if bad is not None]
    return f"CASE WHEN ({' OR '.join(conditions)}) IS NOT TRUE THEN {words} END" if conditions else words
