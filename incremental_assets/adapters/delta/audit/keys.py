"""The keys of a copy at one version, counted and hashed by parts in the format of `adapters/databases/measure.py`."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from functools import cached_property, partial

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from incremental_assets.adapters.databases.measure import spark_row_text
from incremental_assets.adapters.delta.audit.checksums import Held
from incremental_assets.adapters.delta.audit.placed import hashed, rows_within, spread_of, sums_of
from incremental_assets.adapters.delta.errors import explained
from incremental_assets.adapters.delta.live import latest_of_each_key, live, marks_deletes
from incremental_assets.adapters.spark.expressions import column
from incremental_assets.adapters.spark.own_names import DELETED_AT, KEY, WRITTEN
from incremental_assets.core.model.key_parts import KeyParts, KeySpread, KeySum


class HeldKeys:
    """Implements `core.ports.CopyKeys` over a table of the lake."""

    def __init__(self, held: Held, lake: str) -> None:
        self._held, self._spec = held, held.spec
        self._columns = [next(found for found in held.spec.columns if found.name == name) for name in held.spec.key]
        self._explained = partial(explained, held.spec.id, lake)

    @cached_property
    def _all(self) -> DataFrame:
        held = self._held
        table = held.session.read.format("delta").option("versionAsOf", str(held.log.version)).load(held.path)
        # A key with a part that is NULL is in no copy of ours.
        return latest_of_each_key(held.spec, table)

    @cached_property
    def _rows(self) -> DataFrame:
        return live(self._all, self._held.log.columns())

    @cached_property
    def _found(self) -> KeySpread:
        return spread_of(self._spec, self._rows)

    def spread(self) -> KeySpread:
        """The number of keys and the ends of their places, by one scan of the key; kept for the next call."""
        with self._explained():
            return self._found

    def sums(self, within: KeyParts, shift: int) -> dict[int, KeySum]:
        """The number of keys and the sum of their hashes by part, in one scan of the files that may hold them."""
        with self._explained():
            return sums_of(hashed(self._spec, self._rows, within, self._columns), shift)

    def texts(self, within: KeyParts) -> frozenset[str]:
        """The canonical text of each key within."""
        with self._explained():
            rows = rows_within(self._spec, self._rows, within).select(self._text)
            return frozenset(row[KEY] for row in rows.collect())

    def as_written(self, texts: AbstractSet[str]) -> frozenset[str]:
        """By the columns of the key itself, of the rows that have these."""
        if self._spec.collation_key is None:
            return frozenset(texts)
        with self._explained():
            sought = self._held.session.createDataFrame(pa.table({KEY: sorted(texts)}))
            keys = self._all.select(self._text, sf.expr(spark_row_text(self._spec.key_columns)).alias(WRITTEN))
            found = keys.join(sf.broadcast(sought), on=KEY, how="left_semi").select(WRITTEN)
            return frozenset(row[WRITTEN] for row in found.distinct().collect())

    def marked(self) -> frozenset[str]:
        """Of what landed while rows that are gone were marked, in a copy from which they are taken now."""
        if self._spec.deletes.marks or not marks_deletes(self._held.log.columns()):
            return frozenset()
        with self._explained():
            rows = self._all.where(f"{DELETED_AT} IS NOT NULL").select(self._text)
            return frozenset(row[KEY] for row in rows.collect())

    def rows(self, texts: AbstractSet[str]) -> pa.Table:
        """The keys as the copy holds them, so that no value takes a way through Python."""
        with self._explained():
            # From Arrow: from Python's own rows Spark would start Python workers.
            sought = self._held.session.createDataFrame(pa.table({KEY: sorted(texts)}))
            keys = self._all.select(*(column(name) for name in self._spec.key), self._text)
            found = keys.join(sf.broadcast(sought), on=KEY, how="left_semi")
            return found.select(*(column(name) for name in self._spec.key)).distinct().toArrow()

    def by_bytes(self) -> None:
        """Spark has no such hash."""

    @property
    def _text(self) -> Column:
        return sf.expr(spark_row_text(self._columns)).alias(KEY)
