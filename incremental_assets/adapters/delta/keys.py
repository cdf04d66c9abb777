"""The keys of a copy at one version, counted and hashed by parts in the words of `adapters/databases/measure.py`."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from functools import cached_property

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from incremental_assets.adapters.databases.measure import (
    placed_by_value,
    spark_row_hash,
    spark_row_text,
)
from incremental_assets.adapters.delta.checksums import Held, sum_of_hashes, whole_sum
from incremental_assets.adapters.delta.live import standing
from incremental_assets.adapters.spark.expressions import column
from incremental_assets.adapters.spark.own_names import HASH, KEY, own
from incremental_assets.core.model.key_parts import HASH_BITS, KeyParts, KeySpread, KeySum

_PLACE = own("place")


class HeldKeys:
    """Implements `core.ports.CopyKeys` over a table of the lake."""

    def __init__(self, held: Held) -> None:
        self._session, self._spec = held.session, held.spec
        table = held.session.read.format("delta").option("versionAsOf", str(held.log.version)).load(held.path)
        # A key with a part that is NULL is in no copy of ours.
        self._rows = standing(held.spec, table, held.log.columns())
        self._columns = [next(found for found in held.spec.columns if found.name == name) for name in held.spec.key]

    @cached_property
    def _found(self) -> KeySpread:
        counted = sf.count(sf.lit(1)).alias(own("rows"))
        if not placed_by_value(self._spec):
            found = self._rows.agg(counted).first()
            return KeySpread(int(found[0]) if found else 0, 0, (1 << HASH_BITS) - 1)
        ends = (end(column(self._spec.key[0])).cast("bigint") for end in (sf.min, sf.max))
        found = self._rows.agg(counted, *ends).first()
        return KeySpread(found[0], found[1], found[2]) if found and found[0] else KeySpread(0, 0, 0)

    def spread(self) -> KeySpread:
        """In one scan of the key."""
        return self._found

    def sums(self, within: KeyParts, shift: int) -> dict[int, KeySum]:
        """In one scan of the files that may hold them."""
        hashed = sf.expr(spark_row_hash(self._columns)).alias(HASH)
        rows = self._within(within).select(sf.shiftright(self._place, shift).alias(_PLACE), hashed)
        summed = rows.groupBy(_PLACE).agg(sf.count(sf.lit(1)), *sum_of_hashes()).collect()
        return {part: KeySum(count, whole_sum(parts)) for part, count, *parts in summed}

    def texts(self, within: KeyParts) -> frozenset[str]:
        """Of each row."""
        return frozenset(row[KEY] for row in self._within(within).select(self._text).collect())

    def rows(self, texts: AbstractSet[str]) -> pa.Table:
        """The keys as the copy holds them, so that no value takes a way through Python."""
        # From Arrow: from Python's own rows Spark would start Python workers.
        sought = self._session.createDataFrame(pa.table({KEY: sorted(texts)}))
        keys = self._rows.select(*(column(name) for name in self._spec.key), self._text)
        found = keys.join(sf.broadcast(sought), on=KEY, how="left_semi")
        return found.select(*(column(name) for name in self._spec.key)).distinct().toArrow()

    @property
    def _text(self) -> Column:
        return sf.expr(spark_row_text(self._columns)).alias(KEY)

    @property
    def _place(self) -> Column:
        if placed_by_value(self._spec):
            return column(self._spec.key[0]).cast("bigint")
        return sf.expr(spark_row_hash(self._columns))

    def _within(self, within: KeyParts) -> DataFrame:
        rows = self._rows
        if placed_by_value(self._spec):
            # By these ends files are left out.
            own_value, ranges = column(self._spec.key[0]), within.ranges
            rows = rows.where((own_value >= ranges[0][0]) & (own_value <= ranges[-1][1]))
        if within.numbers is None:
            return rows
        return rows.where(sf.shiftright(self._place, within.shift).isin(sorted(within.numbers)))
