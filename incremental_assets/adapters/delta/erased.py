"""Keys that were erased from copies, as the lake keeps them beside its tables: a sync, a check or a history asks before it lets a row through."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq

from incremental_assets.adapters.databases.measure import readable_values
from incremental_assets.adapters.delta.key_values import compared_text
from incremental_assets.adapters.lake_store.opened import store_of
from incremental_assets.adapters.spark.own_names import RAW
from incremental_assets.core.model.column import Column
from incremental_assets.core.model.erased import ErasedKeys, ErasureKey, erased_from, typed_text
from incremental_assets.core.model.key_text import canonical
from incremental_assets.core.model.paths import erased_path
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.table_id import TableId

Key = Callable[[], "ErasureKey | None"]
"""The secret key of the configuration, looked up when a list is there to be read by it."""


@dataclass(frozen=True, slots=True)
class LakeErasures:
    """Implements `core.ports.Erasures`. Read each time: whoever erases holds the lease of the table, and so does whoever lands rows."""

    lake: str
    key: Key = lambda: None

    def keys(self, table: TableId) -> ErasedKeys | None:
        """Those of a table; None where there are none. Raises LakeRefused."""
        store = store_of(self.lake)
        if store is None:
            # Nothing is erased from a lake that only Spark can reach.
            return None
        path = erased_path(self.lake, table)
        try:
            text = store.read(path).decode(errors="replace")
        except FileNotFoundError:
            return None
        return erased_from(text, path, self.key())

    def has(self, table: TableId) -> bool:
        """Whether any were erased from a table."""
        return self.keys(table) is not None

    def among(self, spec: TableSpec, texts: AbstractSet[str]) -> frozenset[str]:
        """Those of some keys that were."""
        found = self.keys(spec.id)
        if found is None:
            return frozenset()
        columns, places = spec.key_columns, found.places(spec)
        keys = ((text, _parts(columns, text)) for text in texts)
        return frozenset(text for text, parts in keys if found.holds([parts[place] for place in places]))


@dataclass(frozen=True, slots=True)
class Left:
    """What a task keeps of rows whose columns are `c0`, `c1`, …. `places`: of the key's columns, by whose names rows that cannot land have them in their texts."""

    erased: ErasedKeys
    places: tuple[int, ...]
    key: tuple[Column, ...]

    @classmethod
    def of(cls, spec: TableSpec, erased: ErasedKeys) -> Left:
        """Of a read of a table."""
        at = {column.name: place for place, column in enumerate(spec.columns)}
        key = tuple(spec.key_columns[place] for place in erased.places(spec))
        return cls(erased, tuple(at[column.name] for column in key), key)

    def rows(self, rows: pa.Table) -> pa.Table:
        """Those whose keys were not erased."""
        gone = [self.erased.holds(key) for key in zip(*self._texts(rows), strict=True)]
        if RAW in rows.column_names and rows.column(RAW).null_count < rows.num_rows:
            # One that cannot land may have its key there alone.
            raws = rows.column(RAW).to_pylist()
            gone = [each or self._is_gone(raw) for each, raw in zip(gone, raws, strict=True)]
        return rows.filter(pa.array([not each for each in gone])) if any(gone) else rows

    def _is_gone(self, raw: str | None) -> bool:
        row = json.loads(raw) if raw else {}
        texts = (compared_text(str(row.get(column.name, "")), column) for column in self.key)
        return self.erased.holds(
            [typed_text(column.spark_type, text) for column, text in zip(self.key, texts, strict=True)]
        )

    def _texts(self, rows: pa.Table) -> list[list[str]]:
        return [
            [
                "" if value is None else typed_text(column.spark_type, canonical(value))
                for value in rows.column(place).to_pylist()
            ]
            for place, column in zip(self.places, self.key, strict=True)
        ]


def leave_out(file: str, spec: TableSpec, erased: ErasedKeys) -> None:
    """Write a file of versions anew without those of keys that were erased."""
    rows = pq.read_table(file)
    left = Left.of(spec, erased).rows(rows)
    if left.num_rows < rows.num_rows:
        pq.write_table(left, file, compression="zstd", compression_level=1)


def _parts(columns: Sequence[Column], text: str) -> tuple[str, ...]:
    """The values of a canonical text of a key, as lists of erased keys have them."""
    if len(columns) == 1 and columns[0].spark_type == "string":
        return (text,)
    values = readable_values(columns, text)
    return tuple(typed_text(column.spark_type, value or "") for column, value in zip(columns, values, strict=True))
