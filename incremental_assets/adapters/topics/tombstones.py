"""Keys that a topic has deleted, for a while: a connector that repeats itself sends what came before the delete once more, and brings no row back.

They are safe before the commit that takes the rows away. One that was written for a commit which never came says nothing wrong: its delete is read again.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from incremental_assets.adapters.lake_store.opened import store_of
from incremental_assets.adapters.lake_store.store import LakeStore
from incremental_assets.adapters.spark.arrow_types import required_type, typed
from incremental_assets.adapters.topics.changes import Key
from incremental_assets.adapters.topics.typed import keys_of
from incremental_assets.core.errors import LakeRefused
from incremental_assets.core.model.table import TableSpec

KEEP = timedelta(days=7)
"""A connector that was down for longer has its topic filled anew."""
MOST_FILES = 16
"""Then they become one."""
_PLACE, _AT = "place", "at"


@dataclass(frozen=True, slots=True)
class Tombstones:
    """Of one table and one topic, in a folder of their own in the lake."""

    folder: str
    spec: TableSpec

    def add(self, places: Mapping[Key, int]) -> None:
        """The place in the source's log of each delete. Raises LakeRefused."""
        if not places:
            return
        try:
            names = self._listed()
            kept = _finished(names)
            replaced = kept if len(kept) >= MOST_FILES else []
            rows = self._rows(places)
            if replaced:
                rows = _together([*map(self._read, replaced), rows], self._names)
            self._write(rows)
            for name in (*replaced, *(name for name in names if name not in kept)):
                self._store.delete(f"{self.folder}/{name}")
        except (OSError, pa.ArrowException) as error:
            raise self._refused(error) from None

    def places(self, keys: Collection[Key]) -> dict[Key, int]:
        """Of these keys, those that were deleted, each with the place of its last delete. Raises LakeRefused."""
        if not keys:
            return {}
        wanted = self._keys(keys)
        try:
            rows = pa.concat_tables(
                [self._among(self._read(name), wanted) for name in _finished(self._listed())] or [self._rows({})]
            )
        except (OSError, pa.ArrowException) as error:
            raise self._refused(error) from None
        found: dict[Key, int] = {}
        for key, place in zip(keys_of(rows, self._names), rows.column(_PLACE).to_pylist(), strict=True):
            found[key] = max(place, found.get(key, place))
        return found

    @property
    def _names(self) -> tuple[str, ...]:
        return tuple(f"key{number}" for number in range(len(self.spec.key)))

    @property
    def _store(self) -> LakeStore:
        found = store_of(self.folder)
        if found is None:
            raise LakeRefused(
                f"{self.spec.id}: only Spark can reach its lake, where keys of deleted rows are to be kept; land topics in a lake on a disk or in a store of objects"
            )
        return found

    def _listed(self) -> list[str]:
        try:
            return sorted(self._store.list_from(self.folder))
        except FileNotFoundError:
            return []

    def _read(self, name: str) -> pa.Table:
        return pq.read_table(self._store.for_arrow(f"{self.folder}/{name}"))

    def _write(self, rows: pa.Table) -> None:
        """Safe before it has its name: a process that dies on the way leaves what nobody reads."""
        store, key = self._store, f"{self.folder}/{uuid.uuid4().hex}.parquet"
        store.own_folder(self.folder)
        with store.new(store.unfinished(key)) as file:
            pq.write_table(rows, file, compression="zstd")
        store.finish(key)
        store.settle(self.folder)

    def _keys(self, keys: Collection[Key]) -> pa.Table:
        types = {each.name: required_type(each.spark_type) for each in self.spec.columns}
        columns = {
            name: typed([key[number] for key in keys], types[self.spec.key[number]])
            for number, name in enumerate(self._names)
        }
        return pa.table(columns)

    def _among(self, kept: pa.Table, wanted: pa.Table) -> pa.Table:
        """What is kept of these keys; a column may have been narrower then."""
        fields = [*wanted.schema, kept.schema.field(_PLACE), kept.schema.field(_AT)]
        same = kept.select([each.name for each in fields]).cast(pa.schema(fields))
        return same.join(wanted, keys=list(self._names), join_type="left semi")

    def _rows(self, places: Mapping[Key, int]) -> pa.Table:
        now = pa.scalar(datetime.now(UTC), pa.timestamp("us", "UTC"))
        rows = self._keys(places).append_column(_PLACE, pa.array(places.values(), pa.int64()))
        return rows.append_column(_AT, pa.repeat(now, len(places)))

    def _refused(self, error: Exception) -> LakeRefused:
        what = error.strerror if isinstance(error, OSError) and error.strerror else str(error).partition("\n")[0]
        return LakeRefused(
            f"{self.spec.id}: {self.folder}, where the keys of deleted rows are kept, cannot be used ({what}); make room or give access, or restore it from a backup of the lake; "
            "if it is removed, a row that a restarted connector repeats is there until its delete comes again"
        )


def _together(tables: Sequence[pa.Table], keys: Sequence[str]) -> pa.Table:
    """Each key once, with its last delete, without those that are old."""
    rows = pa.concat_tables(tables, promote_options="permissive")
    young = rows.filter(pc.greater(rows.column(_AT), pa.scalar(datetime.now(UTC) - KEEP, pa.timestamp("us", "UTC"))))
    last = young.group_by(list(keys)).aggregate([(_PLACE, "max"), (_AT, "max")])
    return last.rename_columns({f"{_PLACE}_max": _PLACE, f"{_AT}_max": _AT})


def _finished(names: Sequence[str]) -> list[str]:
    """Of what is in the folder; the rest was begun by a process that died."""
    return [name for name in names if name.endswith(".parquet") and not name.startswith(".")]
