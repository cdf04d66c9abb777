"""Rows by the places of their keys on the line of `core.model.key_parts`: counted and hashed by parts, and the condition that reads some of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import psycopg

from incremental_assets.adapters.databases.measure import placed_by_value
from incremental_assets.adapters.databases.postgresql.batch import one_row
from incremental_assets.adapters.databases.postgresql.byte_hash import byte_hash, hashes_alike
from incremental_assets.adapters.databases.postgresql.keys import by_index, holdable
from incremental_assets.adapters.databases.postgresql.measure import Hashed, comparable, key_text, row_hash
from incremental_assets.adapters.databases.postgresql.sql import (
    Parameters,
    Values,
    column,
    column_of,
    inline,
    relation,
)
from incremental_assets.adapters.spark.own_names import HASH, KEY
from incremental_assets.core.model.key_parts import HASH_BITS, KeyParts, KeySpread, KeySum
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.window import Window


class PlacedRows:
    """Implements `core.ports.PlacedRows` and `core.ports.ByteHashed` over the connection that holds the snapshot."""

    def __init__(
        self, asked: psycopg.RawCursor[Any], spec: TableSpec, windows: Sequence[Window], hashed: Hashed = row_hash
    ) -> None:
        self._asked, self._spec, self._windows = asked, spec, windows
        self._hash = hashed(spec.columns)

    def by_bytes(self) -> PlacedRows | None:
        """Where this very server hashes as the lake does."""
        if not hashes_alike(self._asked):
            return None
        return PlacedRows(self._asked, self._spec, self._windows, byte_hash)

    def spread(self) -> KeySpread:
        """In one scan of the windows."""
        values = Parameters()
        ends = f"min({place(self._spec)}), max({place(self._spec)})" if placed_by_value(self._spec) else "NULL, NULL"
        sql = f"SELECT count(*), {ends} FROM {relation(self._spec.id)} WHERE {self._inside(values)}"
        rows, lowest, highest = one_row(self._asked, sql, values.values)
        return KeySpread(rows, lowest or 0, (1 << HASH_BITS) - 1 if highest is None else highest)

    def sums(self, within: KeyParts, shift: int) -> dict[int, KeySum]:
        """Of the ranges alone where the key's own order has them."""
        by_index(self._asked)
        rows = self._rows(f"placed >> {shift}, count(*), sum(hashed)", within, "GROUP BY 1")
        return {part: KeySum(count, int(digest)) for part, count, digest in rows}

    def hashes(self, within: KeyParts) -> list[tuple[int, int]]:
        """As `sums` finds them."""
        return [(found, digest) for found, digest in self._rows("placed, hashed", within)]

    def _rows(self, selected: str, within: KeyParts, grouped: str = "") -> list[tuple[Any, ...]]:
        values, own = Parameters(), place(self._spec)
        rows = f"SELECT {own} AS placed, {self._hash} AS hashed FROM {relation(self._spec.id)}"
        if within.numbers is None:
            inside = self._inside(values)
            if placed_by_value(self._spec):
                inside += f" AND {own} BETWEEN {within.lowest} AND {within.highest}"
            source = f"({rows} WHERE {inside}) AS found"
        else:
            lows, highs = zip(*within.ranges, strict=True) if within.ranges else ((), ())
            low, high = (values(_array(ends), "bigint[]") for ends in (lows, highs))
            inside = self._inside(values)
            if placed_by_value(self._spec):
                # From range to range by the index. A join is another matter: the planner takes each range for a ninth of the table, and may put all of them
                # to every row.
                source = (
                    f"unnest({low}, {high}) AS r(low, high) "
                    f"CROSS JOIN LATERAL ({rows} WHERE {own} BETWEEN r.low AND r.high AND {inside} OFFSET 0) AS found"
                )
            else:
                inside += f" AND {own} <= ({high})[width_bucket({own}, {low})]"
                source = f"({rows} WHERE {inside}) AS found"
        return self._asked.execute(f"SELECT {selected} FROM {source} {grouped}", values.values).fetchall()

    def _inside(self, values: Values) -> str:
        return comparable(self._spec, self._windows, values)


def place(spec: TableSpec) -> str:
    """The place of a row's key: its value where it is one whole number, else its hash; of a row without a key the hash of the row."""
    if placed_by_value(spec):
        return column(spec.key[0])
    columns = [column_of(spec, name) for name in spec.key] or spec.columns
    return holdable(columns, row_hash(columns))


def row_hashes_sql(spec: TableSpec, windows: Sequence[Window], places: KeyParts | None = None) -> str:
    """For Spark's reader: key and hash of every row of the windows, or of those alone whose keys lie at some places, to find the rows that differ."""
    key = (
        key_text([column_of(spec, name) for name in spec.key])
        if spec.key
        else f"CAST({row_hash(spec.columns)} AS text)"
    )
    rows = comparable(spec, windows, inline)
    if places is not None:
        rows = f"{rows} AND {at_places(spec, places, inline)}"
    return f"SELECT {key} AS {KEY}, {row_hash(spec.columns)} AS {HASH} FROM {relation(spec.id)} WHERE {rows}"


def at_places(spec: TableSpec, places: KeyParts, values: Values) -> str:
    """The condition that the key of a row lies at one of some places."""
    return f"{place(spec)} = ANY({values(_array(sorted(places.numbers or ())), 'bigint[]')})"


def _array(numbers: Sequence[int]) -> str:
    return "{" + ",".join(map(str, numbers)) + "}"
