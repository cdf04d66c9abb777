"""The places of a copy's rows on the line of `core.model.key_parts`, as Spark's expressions."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from incremental_assets.adapters.databases.measure import placed_by_value, spark_row_hash
from incremental_assets.adapters.spark.expressions import column
from incremental_assets.adapters.spark.own_names import HASH, own
from incremental_assets.core.model.column import Column as SourceColumn
from incremental_assets.core.model.key_parts import HASH_BITS, KeyParts, KeySpread, KeySum
from incremental_assets.core.model.table import TableSpec

PLACE = own("place")
_PARTS, _MASK = (0, 20, 40), 2**20 - 1
"""A hash of 60 bits is summed in three parts, which fit into 64 bits for eight trillion rows: a sum of decimals takes several times as long."""


def place_of(spec: TableSpec) -> Column:
    """The place of a row's key; of a row without a key its hash."""
    if placed_by_value(spec):
        return column(spec.key[0]).cast("bigint")
    by_name = {found.name: found for found in spec.columns}
    return sf.expr(spark_row_hash([by_name[name] for name in spec.key] or spec.columns))


def rows_within(spec: TableSpec, rows: DataFrame, within: KeyParts) -> DataFrame:
    """Those whose keys lie there."""
    ranges = within.ranges
    if placed_by_value(spec) and ranges:
        # By these ends files are left out.
        own_value = column(spec.key[0])
        rows = rows.where((own_value >= ranges[0][0]) & (own_value <= ranges[-1][1]))
    if within.numbers is None:
        return rows
    return rows.where(sf.shiftright(place_of(spec), within.shift).isin(sorted(within.numbers)))


def spread_of(spec: TableSpec, rows: DataFrame) -> KeySpread:
    """The number of rows and the ends of their places, in one scan; keys that lie at their hashes are only counted, and the ends are those of all hashes."""
    counted = sf.count(sf.lit(1)).alias(own("rows"))
    if not placed_by_value(spec):
        found = rows.agg(counted).first()
        return KeySpread(int(found[0]) if found else 0, 0, (1 << HASH_BITS) - 1, by_hash=True)
    found = rows.agg(counted, *(end(place_of(spec)) for end in (sf.min, sf.max))).first()
    return KeySpread(found[0], found[1], found[2]) if found and found[0] else KeySpread(0, 0, 0)


def hashed(spec: TableSpec, rows: DataFrame, within: KeyParts, columns: Sequence[SourceColumn]) -> DataFrame:
    """PLACE, and HASH of some of their columns, of those that lie there."""
    found = sf.expr(spark_row_hash(columns)).alias(HASH)
    return rows_within(spec, rows, within).select(place_of(spec).alias(PLACE), found)


def sums_of(rows: DataFrame, shift: int) -> dict[int, KeySum]:
    """The number of rows and the sum of hashes of each part, of rows that `hashed` gave."""
    by_part = rows.withColumn(PLACE, sf.shiftright(PLACE, shift)).groupBy(PLACE)
    summed = by_part.agg(sf.count(sf.lit(1)), *sum_of_hashes()).collect()
    return {part: KeySum(count, whole_sum(parts)) for part, count, *parts in summed}


def sum_of_hashes() -> list[Column]:
    """The sum of the column HASH, in parts."""
    return [sf.sum(sf.shiftright(HASH, bits).bitwiseAND(_MASK)) for bits in _PARTS]


def whole_sum(parts: Sequence[int]) -> int:
    """The sum that the parts make."""
    return sum(part << bits for part, bits in zip(parts, _PARTS, strict=True))
