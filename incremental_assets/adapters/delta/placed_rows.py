"""The rows of a copy at one version by the places of their keys, counted and hashed in the words of `adapters/databases/measure.py`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, partial

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from incremental_assets.adapters.databases.measure import placed_by_value, spark_row_hash
from incremental_assets.adapters.delta.checksums import (
    Held,
    at_places,
    in_any,
    place_of,
    rows_of,
    sum_of_hashes,
    whole_sum,
)
from incremental_assets.adapters.delta.errors import explained
from incremental_assets.adapters.spark.expressions import column
from incremental_assets.adapters.spark.own_names import HASH, own
from incremental_assets.core.model.key_parts import HASH_BITS, KeyParts, KeySpread, KeySum
from incremental_assets.core.model.window import Window

_PLACE = own("place")


class HeldRows:
    """Implements `core.ports.PlacedRows` over a table of the lake."""

    def __init__(self, held: Held, windows: Sequence[Window], lake: str) -> None:
        self._held, self._spec, self._windows = held, held.spec, windows
        self._explained = partial(explained, held.spec.id, lake)

    # To load a table makes Spark read its log: not before it is asked.
    @cached_property
    def _every(self) -> DataFrame:
        return rows_of(self._held).where(in_any(self._spec, self._windows))

    @cached_property
    def _latest(self) -> DataFrame:
        return rows_of(self._held, latest=True).where(in_any(self._spec, self._windows))

    @cached_property
    def _found(self) -> KeySpread:
        counted = sf.count(sf.lit(1)).alias(own("rows"))
        if not placed_by_value(self._spec):
            found = self._latest.agg(counted).first()
            return KeySpread(int(found[0]) if found else 0, 0, (1 << HASH_BITS) - 1)
        ends = (end(column(self._spec.key[0])).cast("bigint") for end in (sf.min, sf.max))
        found = self._latest.agg(counted, *ends).first()
        return KeySpread(found[0], found[1], found[2]) if found and found[0] else KeySpread(0, 0, 0)

    def spread(self) -> KeySpread:
        """In one scan of the windows."""
        with self._explained():
            return self._found

    def sums(self, within: KeyParts, shift: int) -> dict[int, KeySum]:
        """In one scan of the files that may hold them."""
        with self._explained():
            rows = self._hashed(self._latest, within).withColumn(_PLACE, sf.shiftright(_PLACE, shift))
            summed = rows.groupBy(_PLACE).agg(sf.count(sf.lit(1)), *sum_of_hashes()).collect()
        return {part: KeySum(count, whole_sum(parts)) for part, count, *parts in summed}

    def hashes(self, within: KeyParts) -> list[tuple[int, int]]:
        """Of every version."""
        with self._explained():
            return [(row[_PLACE], row[HASH]) for row in self._hashed(self._every, within).collect()]

    def _hashed(self, rows: DataFrame, within: KeyParts) -> DataFrame:
        hashed = sf.expr(spark_row_hash(self._spec.columns)).alias(HASH)
        return at_places(self._spec, rows, within).select(place_of(self._spec).alias(_PLACE), hashed)
