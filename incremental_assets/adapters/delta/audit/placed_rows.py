"""The rows of a copy at one version by the places of their keys, counted and hashed in the format of `adapters/databases/measure.py`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, partial

from pyspark.sql import DataFrame

from incremental_assets.adapters.delta.audit.checksums import Held, in_any, rows_of
from incremental_assets.adapters.delta.audit.placed import PLACE, hashed, spread_of, sums_of
from incremental_assets.adapters.delta.errors import explained
from incremental_assets.adapters.spark.own_names import HASH
from incremental_assets.core.model.change_columns import as_in_source, keeps_changes
from incremental_assets.core.model.column import Column
from incremental_assets.core.model.key_parts import KeyParts, KeySpread, KeySum
from incremental_assets.core.model.window import Window


class HeldRows:
    """Implements `core.ports.PlacedRows` over a table of the lake."""

    def __init__(self, held: Held, windows: Sequence[Window], lake: str) -> None:
        self._held, self._spec, self._windows = held, held.spec, windows
        self._explained = partial(explained, held.spec.id, lake)

    @property
    def _columns(self) -> tuple[Column, ...]:
        """Those of the source's rows, with which they are compared."""
        return as_in_source(self._spec).columns

    # To load a table makes Spark read its log: not before it is asked.
    @cached_property
    def _every(self) -> DataFrame:
        return rows_of(self._held).where(in_any(self._spec, self._windows))

    @cached_property
    def _latest(self) -> DataFrame:
        return rows_of(self._held, latest=True).where(in_any(self._spec, self._windows))

    @cached_property
    def _found(self) -> KeySpread:
        return spread_of(self._spec, self._latest)

    def spread(self) -> KeySpread:
        """The number of rows and the ends of their places, by one scan of the windows; kept for the next call."""
        with self._explained():
            return self._found

    def sums(self, within: KeyParts, shift: int) -> dict[int, KeySum]:
        """The number of rows and the sum of their hashes by part, in one scan of the files that may hold them."""
        with self._explained():
            return sums_of(hashed(self._spec, self._latest, within, self._columns), shift)

    def hashes(self, within: KeyParts) -> list[tuple[int, int]]:
        """Place and hash of each row within, every version that an append kept included; of one that keeps changes of the rows alone that they come to."""
        rows = self._latest if keeps_changes(self._spec) else self._every
        with self._explained():
            found = hashed(self._spec, rows, within, self._columns).collect()
            return [(row[PLACE], row[HASH]) for row in found]
