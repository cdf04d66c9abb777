"""Rows by the places of their keys on the line of `core.model.key_parts`: counted and hashed by parts, and the condition that reads some of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from incremental_assets.adapters.databases.measure import placed_by_value
from incremental_assets.adapters.databases.postgresql.asked import Asked
from incremental_assets.adapters.databases.postgresql.batch import one_row
from incremental_assets.adapters.databases.postgresql.read_from import read_from
from incremental_assets.adapters.databases.postgresql.rows.byte_hash import byte_hash, hashes_alike
from incremental_assets.adapters.databases.postgresql.rows.measure import (
    Hashed,
    comparable,
    key_text,
    row_hash,
    row_text,
    window_number,
)
from incremental_assets.adapters.databases.postgresql.rows.placed import by_index, numbers, place, placed, rows_within
from incremental_assets.adapters.databases.postgresql.sql import (
    Parameters,
    Values,
    column_of,
    inline,
)
from incremental_assets.adapters.spark.own_names import HASH, KEY, ROW, WRITTEN
from incremental_assets.core.model.key_parts import HASH_BITS, KeyParts, KeySpread, KeySum
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.window import Window


class PlacedRows:
    """Implements `core.ports.PlacedRows`, `ByteHashed` and `Windowed` over the connection that holds the snapshot."""

    def __init__(self, asked: Asked, spec: TableSpec, windows: Sequence[Window], hashed: Hashed = row_hash) -> None:
        self._asked, self._spec, self._windows = asked, spec, windows
        self._hash = hashed(spec.columns)

    def by_bytes(self) -> PlacedRows | None:
        """The rows by bytes, where this very server hashes as the lake does; else None."""
        if not hashes_alike(self._asked):
            return None
        return PlacedRows(self._asked, self._spec, self._windows, byte_hash)

    def spread(self) -> KeySpread:
        """The number of rows and the ends of their places, in one scan of the windows; of keys at their hashes the ends are those of all hashes."""
        values = Parameters()
        ends = f"min({place(self._spec)}), max({place(self._spec)})" if placed_by_value(self._spec) else "NULL, NULL"
        sql = f"SELECT count(*), {ends} {read_from(self._spec, self._inside(values))}"
        rows, lowest, highest = one_row(self._asked, sql, values.values)
        return KeySpread(rows, lowest or 0, (1 << HASH_BITS) - 1 if highest is None else highest)

    def sums(self, within: KeyParts, shift: int) -> dict[int, KeySum]:
        """The number of rows and the sum of their hashes by part; of a key that is one number only the ranges are read."""
        by_index(self._asked)
        rows = self._rows(f"placed >> {shift}, count(*), sum(hashed)", within, "GROUP BY 1")
        return {part: KeySum(count, int(digest)) for part, count, digest in rows}

    def hashes(self, within: KeyParts) -> list[tuple[int, int]]:
        """Place and hash of each row within."""
        return [(found, digest) for found, digest in self._rows("placed, hashed", within)]

    def windowed(self, within: KeyParts) -> list[tuple[int, int, int]]:
        """Place, hash and number of the window of each row within."""
        return [(found, digest, number) for found, digest, number in self._rows("placed, hashed, number", within)]

    def _rows(self, selected: str, within: KeyParts, grouped: str = "") -> list[tuple[Any, ...]]:
        values, each = Parameters(), f"{placed(self._spec)}, {self._hash} AS hashed"
        if "number" in selected:
            each += f", {window_number(self._spec, self._windows, values)} AS number"
        source = rows_within(self._spec, each, within, values, self._inside(values))
        return self._asked.execute(f"SELECT {selected} FROM {source} {grouped}", values.values).fetchall()

    def _inside(self, values: Values) -> str:
        return comparable(self._spec, self._windows, values)


def key_ends(asked: Asked, spec: TableSpec) -> tuple[int, int] | None:
    """The smallest and the largest key, where it is a whole number that the source enforces, and so has an index for; None without a row."""
    if not (spec.key_enforced and placed_by_value(spec)):
        return None
    own = place(spec)
    lowest, highest = one_row(asked, f"SELECT min({own}), max({own}) {read_from(spec)}")
    return None if lowest is None else (lowest, highest)


def row_hashes_sql(spec: TableSpec, windows: Sequence[Window], places: KeyParts | None = None) -> str:
    """The SQL by which Spark's reader gets key and hash of every row of the windows, or of those alone whose keys lie at some places, to find the rows that differ."""
    written = f", {key_text(spec.key_columns)} AS {WRITTEN}" if spec.collation_key else ""
    return _keyed(spec, f"{row_hash(spec.columns)} AS {HASH}{written}", windows, places)


def row_texts_sql(spec: TableSpec, windows: Sequence[Window], places: KeyParts | None = None) -> str:
    """The same for the key and the canonical text of each of these rows, to show the values that differ."""
    return _keyed(spec, f"{row_text(spec.columns)} AS {ROW}", windows, places)


def _keyed(spec: TableSpec, selected: str, windows: Sequence[Window], places: KeyParts | None) -> str:
    key = (
        key_text([column_of(spec, name) for name in spec.key])
        if spec.key
        else f"CAST({row_hash(spec.columns)} AS text)"
    )
    rows = comparable(spec, windows, inline)
    if places is not None:
        rows = f"{rows} AND {at_places(spec, places, inline)}"
    return f"SELECT {key} AS {KEY}, {selected} {read_from(spec, rows)}"


def at_places(spec: TableSpec, places: KeyParts, values: Values) -> str:
    """The condition that the key of a row lies at one of some places."""
    return f"{place(spec)} = ANY({numbers(sorted(places.numbers or ()), values)})"
