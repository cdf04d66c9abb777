"""The rows of a staged batch, in the types of its target, as much of it at once as is asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from incremental_assets.adapters.delta.log.readable import readable, store_for
from incremental_assets.adapters.delta.tasks.files.key_set import KeySet
from incremental_assets.adapters.delta.tasks.files.unit import ApplyUnit, Stored
from incremental_assets.adapters.spark.arrow_types import required_type
from incremental_assets.adapters.spark.manifest import staged_files
from incremental_assets.adapters.spark.own_names import LATE, OPERATION, REJECT_REASON
from incremental_assets.core.model.batch import Operation

UNFIT = "unfit"
Flags = np.ndarray[Any, np.dtype[np.bool_]]


@dataclass(frozen=True, slots=True)
class StagedGroup:
    """One row group. `puts`: which of its rows land."""

    file: pq.ParquetFile
    place: int
    puts: pa.ChunkedArray

    def read(self, names: Sequence[str], *, put: bool = True) -> pa.Table:
        """Some columns of the rows to put, or of all other rows. Raises NotByTasks."""
        with readable("the staged batch"):
            rows = self.file.read_row_group(self.place, columns=list(names), use_threads=False)
            # A filter copies, and most batches have nothing else.
            return rows if put and self.lands_whole else rows.filter(self.puts if put else pc.invert(self.puts))

    def chosen(self, schema: pa.Schema, flags: Flags | None) -> pa.Table:
        """The rows to put that are flagged (None: all), in these types."""
        rows = self.read(schema.names).cast(schema)
        return rows if flags is None or flags.all() else rows.filter(pa.array(flags))

    @property
    def lands_whole(self) -> bool:
        """Whether every row of it is to be put."""
        return bool(pc.all(self.puts, min_count=0).as_py())

    @property
    def rows(self) -> int:
        """Those to put."""
        return int(pc.sum(self.puts, min_count=0).as_py())


@dataclass(frozen=True, slots=True)
class StagedRows:
    """Rows to put, and keys that are gone, of some row groups."""

    columns: tuple[Stored, ...]
    groups: tuple[StagedGroup, ...]

    @property
    def rows(self) -> int:
        """Those to put."""
        return sum(group.rows for group in self.groups)

    def column(self, place: int) -> pa.ChunkedArray:
        """One column of the rows to put."""
        name, kind = staged_name(place), required_type(self.columns[place].type)
        parts = [group.read([name]).column(0).cast(kind) for group in self.groups]
        return pa.chunked_array([chunk for part in parts for chunk in part.chunks], kind)

    def whole(self, place: int) -> pa.Array:
        """The same in one piece."""
        with readable("a column of the staged batch"):
            return pa.concat_arrays([*self.column(place).chunks, pa.array([], required_type(self.columns[place].type))])

    def tables(self, chosen: Flags | None = None) -> Iterator[pa.Table]:
        """The rows to put, under the names on disk (`c0`, `c1`, …), with the flag of late ones; of each row group those that are chosen."""
        schema = pa.schema(
            [
                *((staged_name(place), required_type(each.type)) for place, each in enumerate(self.columns)),
                (LATE, pa.bool_()),
            ]
        )
        first = 0
        for group in self.groups:
            ours = None if chosen is None else chosen[first : first + group.rows]
            first += group.rows
            if ours is None or ours.any():
                yield group.chosen(schema, ours)

    def gone(self, key: Sequence[int]) -> pa.Table:
        """Keys (`k0`, `k1`, …) of rows that leave the copy, and whether that is because the row cannot land (`unfit`). A key with a NULL matches no row, and is left out."""
        parts = [f"k{place}" for place in range(len(key))]
        schema = pa.schema(
            [
                *((part, required_type(self.columns[place].type)) for part, place in zip(parts, key, strict=True)),
                (UNFIT, pa.bool_()),
            ]
        )
        found = [schema.empty_table()]
        for group in self.groups:
            if not group.lands_whole:
                rows = group.read([*(staged_name(place) for place in key), REJECT_REASON, OPERATION], put=False)
                # One that is held leaves what the target has of its key as it is.
                rows = rows.filter(pc.equal(rows[OPERATION], Operation.GONE.value)).drop_columns([OPERATION])
                unfit = pc.is_valid(rows[REJECT_REASON])
                found.append(
                    rows.drop_columns([REJECT_REASON])
                    .append_column(UNFIT, unfit)
                    .rename_columns(schema.names)
                    .cast(schema)
                )
        return pa.concat_tables(found).drop_null()


@contextmanager
def staged(unit: ApplyUnit, groups: Mapping[str, Sequence[int]] | None) -> Iterator[StagedRows]:
    """The batch of a unit, or some of its row groups, by their files' names."""
    with staged_groups(unit.staged, groups) as found:
        yield StagedRows(unit.columns, found)


@contextmanager
def staged_groups(folder: str, groups: Mapping[str, Sequence[int]] | None = None) -> Iterator[tuple[StagedGroup, ...]]:
    """Row groups of a batch, by their files' names; all of them unless some are named."""
    with ExitStack() as stack:
        found, store = [], store_for(folder)
        for name in [each.name for each in staged_files(folder)] if groups is None else groups:
            with readable("the staged batch"):
                file = stack.enter_context(
                    pq.ParquetFile(store.for_arrow(f"{folder}/{name}"), coerce_int96_timestamp_unit="us")
                )
                for place in range(file.num_row_groups) if groups is None else groups[name]:
                    (operation,) = file.read_row_group(place, columns=[OPERATION], use_threads=False).columns
                    found.append(StagedGroup(file, place, pc.equal(operation, Operation.PUT.value)))
        yield tuple(found)


def leaving(batch: StagedRows, key: Sequence[int]) -> pa.Table:
    """Keys that are gone, each once, and whether one is because its row cannot land; not those with which a row lands."""
    gone = batch.gone(key)
    if not gone.num_rows:
        return gone
    parts = gone.column_names[:-1]
    stays, _ = KeySet.of([batch.column(place) for place in key]).found([gone[part] for part in parts])
    leaves = np.ones(gone.num_rows, dtype=bool)
    leaves[stays] = False
    once = gone.filter(pa.array(leaves)).group_by(parts).aggregate([(UNFIT, "any")])
    return once.rename_columns([*parts, UNFIT])


def staged_name(place: int) -> str:
    """A column's name on disk."""
    return f"c{place}"
