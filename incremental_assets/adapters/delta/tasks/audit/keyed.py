"""The keys of a copy by tasks; where they cannot, Spark's own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from incremental_assets.adapters.databases.measure import placed_by_value
from incremental_assets.adapters.delta import plane
from incremental_assets.adapters.delta.audit.checksums import Held
from incremental_assets.adapters.delta.errors import explained
from incremental_assets.adapters.delta.plane import Result
from incremental_assets.adapters.delta.tasks.audit.placed_task import Asked, PlacedUnit
from incremental_assets.adapters.delta.tasks.audit.placing import placed_units, run_placed, spread_of, sums_of
from incremental_assets.adapters.spark.tasks import Tasks
from incremental_assets.core.model.key_parts import KeyParts, KeySpread, KeySum
from incremental_assets.core.model.measure import NotByBytes, RowHash
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.window import Window
from incremental_assets.core.ports import CopyKeys

_TEXT = "text"


class KeysByTasks:
    """Implements `core.ports.CopyKeys`. `otherwise`: what answers where tasks cannot; None for keys by bytes, which then raise NotByBytes."""

    def __init__(self, tasks: Tasks, held: Held, lake: str, otherwise: Callable[[], CopyKeys] | None) -> None:
        self._tasks, self._held, self._key, self._lake, self._given = tasks, held, held.spec.key, lake, otherwise
        self._by_value = placed_by_value(held.spec)
        self._read: list[pa.Table] = []

    # Not before it is asked: a comparison in which no row has vanished asks nothing.
    @cached_property
    def _units(self) -> list[PlacedUnit] | None:
        by = RowHash.BYTES if self._given is None else RowHash.TEXT
        held = replace(self._held, spec=_keys_alone(self._held.spec))
        return plane.known(lambda: placed_units(held, [Window(None, None)], by, by))

    def by_bytes(self) -> CopyKeys | None:
        """The same keys at the hash of their bytes, by tasks alone, as Spark has no such hash; None where tasks cannot read the table."""
        found = KeysByTasks(self._tasks, self._held, self._lake, None)
        found._read = self._read
        return None if found._units is None else found

    # To load a table makes Spark read its log: not before it is asked.
    @cached_property
    def _otherwise(self) -> CopyKeys:
        if self._given is None:
            raise NotByBytes
        return self._given()

    @cached_property
    def _found(self) -> KeySpread:
        return self._read_by(
            lambda: spread_of(self._run(Asked.SPREAD), by_value=self._by_value), lambda other: other.spread()
        )

    def spread(self) -> KeySpread:
        """The number of keys and the ends of their places, by one scan of the key; kept for the next call."""
        return self._found

    def sums(self, within: KeyParts, shift: int) -> Mapping[int, KeySum]:
        """The number of keys and the sum of their hashes by part, in one scan of the files that may hold them."""
        return self._read_by(
            lambda: sums_of(self._run(Asked.SUMS, within, shift)), lambda other: other.sums(within, shift)
        )

    def texts(self, within: KeyParts) -> frozenset[str]:
        """The canonical text of each key within; the columns of these keys are kept for `rows`."""

        def by_tasks() -> frozenset[str]:
            found = [table for each in self._run(Asked.TEXTS, within) for table in each]
            self._read += found
            return frozenset(text for table in found for text in table[_TEXT].to_pylist())

        return self._read_by(by_tasks, lambda other: other.texts(within))

    def _read_by(self, by_tasks: Callable[[], Result], by_spark: Callable[[CopyKeys], Result]) -> Result:
        return plane.read(
            f"{self._held.spec.id}: its keys are read", by_tasks, lambda: by_spark(self._otherwise)
        ).result

    def as_written(self, texts: AbstractSet[str]) -> frozenset[str]:
        """By Spark, of the few that are named to people."""
        return frozenset(texts) if self._held.spec.collation_key is None else self._otherwise.as_written(texts)

    def marked(self) -> frozenset[str]:
        """By Spark: of few tables there is anything to be asked."""
        return self._otherwise.marked()

    def rows(self, texts: AbstractSet[str]) -> pa.Table:
        """The columns of the keys with these texts, each once: out of what `texts` has read, where that has all of them."""
        if self._units is None or not self._read:
            return self._otherwise.rows(texts)
        sought = pa.array(sorted(texts), pa.string())
        found = _once(pa.concat_tables([table.filter(pc.is_in(table[_TEXT], sought)) for table in self._read]))
        # Of some parts Spark may have told, where tasks could not.
        if found.num_rows < len(texts):
            return self._otherwise.rows(texts)
        return found.drop_columns([_TEXT]).rename_columns(list(self._key))

    def _run(self, asked: Asked, within: KeyParts | None = None, shift: int = 0) -> list[Any]:
        with explained(self._held.spec.id, self._lake):
            return run_placed(self._tasks, self._units, asked, within, shift)


def _once(rows: pa.Table) -> pa.Table:
    """The first of each key: its parts may have been read twice."""
    first = {text: place for place, text in reversed(list(enumerate(rows[_TEXT].to_pylist())))}
    return rows.take(pa.array(sorted(first.values()), pa.int64()))


def _keys_alone(spec: TableSpec) -> TableSpec:
    by_name = {column.name: column for column in spec.columns}
    return replace(spec, cursor=None, shape=replace(spec.shape, columns=tuple(by_name[name] for name in spec.key)))
