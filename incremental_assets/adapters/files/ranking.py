"""The one rule by which an older row never takes the place of a newer one: of two rows with one key that counts which has the larger order, else the larger path, else the larger number.

A row without an order is older than all that have one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc

from incremental_assets.adapters.files.landing_rows import gone, staged
from incremental_assets.adapters.spark.arrow_types import required_type
from incremental_assets.adapters.spark.own_names import REJECT_REASON
from incremental_assets.core.model.file_columns import FILE, ROW
from incremental_assets.core.model.table import TableSpec

CopyRows = Callable[[TableSpec, Sequence[str], pa.Table | None], pa.Table]
"""These columns of the copy's rows with these keys, or of all."""
_THERE, _ORDERED, _IN_COPY = "there", "ordered", "was "


@dataclass(frozen=True, slots=True)
class Ranking:
    """Of one table. `order`: its column, or empty."""

    spec: TableSpec
    order: str

    def newest(self, rows: pa.Table) -> pa.Table:
        """The newest row of each key. One that cannot land stays in any case, and where it is older says nothing of its key."""
        keyed = self._has_key(rows)
        among, others = self._sorted(rows.filter(keyed)), rows.filter(pc.invert(keyed))
        return pa.concat_tables([others, *self._without_older(among, self._is_last(among))])

    def against(self, rows: pa.Table, copy: CopyRows, replaced: Sequence[str], *, looks: bool) -> pa.Table:
        """The same rows without those of which the copy has a newer one, and a row for each key that goes with a file that is replaced. `looks`: whether the copy may have a newer one."""
        files = pa.array(replaced, pa.string())
        if looks:
            rows = self._newer_than(rows, copy, files)
        if not replaced:
            return rows
        was = copy(self.spec, list(dict.fromkeys((*self.spec.key, FILE))), pa.table({FILE: files}))
        known = self._named_keys(rows.filter(self._has_key(rows)))
        left = was.select(list(self.spec.key)).join(
            known, keys=list(self.spec.key), join_type="left anti", use_threads=False
        )
        return pa.concat_tables([rows, gone(self.spec, left)])

    def _newer_than(self, rows: pa.Table, copy: CopyRows, replaced: pa.Array) -> pa.Table:
        keyed = self._has_key(rows)
        among, others = rows.filter(keyed), rows.filter(pc.invert(keyed))
        names = [*filter(None, (self.order,)), FILE, ROW]
        was = copy(self.spec, list(dict.fromkeys((*self.spec.key, *names))), self._named_keys(among))
        was = was.filter(pc.invert(pc.is_in(was.column(FILE), value_set=replaced)))
        if not was.num_rows:
            return rows
        shown = pa.table(
            {
                **{name: was.column(name) for name in self.spec.key},
                **{f"{_IN_COPY}{name}": was.column(name) for name in names},
                _THERE: pa.repeat(pa.scalar(value=True), was.num_rows),
            }
        )
        numbered = self._named_keys(among).append_column("n", pa.array(range(among.num_rows), pa.int64()))
        met = numbered.join(shown, keys=list(self.spec.key), join_type="left outer", use_threads=False).sort_by("n")
        older = _is_older([(among.column(self._staged(name)), met.column(f"{_IN_COPY}{name}")) for name in names])
        older = pc.and_(pc.fill_null(met.column(_THERE), fill_value=False), older)
        return pa.concat_tables([others, *self._without_older(among, pc.invert(older))])

    def _without_older(self, rows: pa.Table, newest: pa.Array) -> tuple[pa.Table, pa.Table]:
        older = rows.filter(pc.invert(newest))
        rejected = older.filter(pc.is_valid(older.column(REJECT_REASON)))
        for name in self._keys:
            place = rejected.schema.get_field_index(name)
            field = rejected.schema.field(place)
            rejected = rejected.set_column(place, field, pa.nulls(rejected.num_rows, field.type))
        return rows.filter(newest), rejected

    def _sorted(self, rows: pa.Table) -> pa.Table:
        """By key, and those of one key by rank."""
        ordered = pc.is_valid(rows.column(self._rank[0]))
        names = (*self._keys, _ORDERED, *self._rank)
        return rows.take(
            pc.sort_indices(rows.append_column(_ORDERED, ordered), [(name, "ascending") for name in names])
        )

    def _is_last(self, rows: pa.Table) -> pa.ChunkedArray:
        """Of sorted rows, whether the next one has another key."""
        if not rows.num_rows:
            return pa.chunked_array([], pa.bool_())
        first, *others = (pc.not_equal(rows.column(name)[:-1], rows.column(name)[1:]) for name in self._keys)
        differs = reduce(pc.or_, others, first)
        return pa.chunked_array([*differs.chunks, pa.array([True])])

    def _has_key(self, rows: pa.Table) -> pa.Array:
        return reduce(pc.and_, (pc.is_valid(rows.column(name)) for name in self._keys))

    def _named_keys(self, rows: pa.Table) -> pa.Table:
        types = {each.name: required_type(each.spark_type) for each in self.spec.columns}
        return pa.table({name: rows.column(self._staged(name)).cast(types[name]) for name in self.spec.key})

    @property
    def _keys(self) -> list[str]:
        return [self._staged(name) for name in self.spec.key]

    @property
    def _rank(self) -> list[str]:
        return [self._staged(name) for name in (*filter(None, (self.order,)), FILE, ROW)]

    def _staged(self, name: str) -> str:
        return staged(self.spec.shape.names.index(name))


def _is_older(ranks: Sequence[tuple[pa.ChunkedArray, pa.ChunkedArray]]) -> pa.Array:
    """Whether the first of each pair is smaller, at the first of them that differ; NULL is smaller than anything."""
    (came, was), *rest = ranks
    smaller = pc.fill_null(pc.less(came, was), pc.and_(pc.is_null(came), pc.is_valid(was)))
    if not rest:
        return smaller
    same = pc.fill_null(pc.equal(came, was), pc.and_(pc.is_null(came), pc.is_null(was)))
    return pc.or_(smaller, pc.and_(same, _is_older(rest)))
