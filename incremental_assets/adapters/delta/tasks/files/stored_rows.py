"""Rows of a target's file, a row group at a time: those that may matter, in the types of the table, with their numbers in the file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from incremental_assets.adapters.delta.log.log_state import file_path
from incremental_assets.adapters.delta.log.readable import readable, store_for
from incremental_assets.adapters.delta.tasks.files import deletion_vector
from incremental_assets.adapters.delta.tasks.files.row_numbers import numbers_of
from incremental_assets.adapters.delta.tasks.files.skipping import Among, Reach, group_may_hold, places
from incremental_assets.adapters.delta.tasks.files.unit import Stored
from incremental_assets.adapters.delta.tasks.files.whole_numbers import Numbers
from incremental_assets.adapters.spark.arrow_types import required_type
from incremental_assets.adapters.spark.not_by_tasks import NotByTasks

_MOST_HELD = 512 * 1024**2
"""Bytes in memory of the target's rows that are compared, or written along, in one task."""
_FEW_BYTES = 2
"""The bytes of a row's text in a file, at the most, where the same ones come again and again."""
_OLD_CALENDAR = (b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96")
"""What Spark writes of a file whose dates are not those of the calendar that is used today."""


@dataclass(frozen=True, slots=True)
class RowGroup:
    """One row group; `leaves` says where the file has which column, `first` is the number of its first row in the file, `dead` are its rows that are marked as gone, counted from there."""

    file: pq.ParquetFile
    leaves: Mapping[str, int]
    place: int
    first: int
    dead: Numbers

    @property
    def rows(self) -> int:
        """Those that are gone included."""
        return int(self.file.metadata.row_group(self.place).num_rows)

    def columns(self, asked: Sequence[Stored]) -> list[pa.ChunkedArray]:
        """All rows of some columns; one that the file is older than is NULL in all of them."""
        with readable("a file of the table"):
            there = self.file.read_row_group(self.place, columns=[each.name for each in asked], use_threads=False)
            held = {name: there.column(place) for place, name in enumerate(there.column_names)}
            return [_typed(held.get(each.name), each, self) for each in asked]

    def may_hold(self, within: Sequence[Reach | Among]) -> bool:
        """Whether one of its rows may lie within all of the reaches."""
        return group_may_hold(self.file, self.leaves, self.place, within)

    @property
    def alive(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Whether each row is there: no deletion vector marks it."""
        found = np.ones(self.rows, dtype=bool)
        found[self.dead] = False
        return found

    def alive_but(self, gone: Numbers) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """The same without rows that are gone now, by their numbers in the file."""
        found = self.alive
        found[gone[(gone >= self.first) & (gone < self.first + self.rows)] - self.first] = False
        return found


@contextmanager
def row_groups(
    table: str, add: Mapping[str, Any], within: Sequence[Reach | Among], *, encoded: bool = False
) -> Iterator[list[RowGroup]]:
    """Row groups of a file that may have a row within all of the reaches. Raises NotByTasks for a file that is not as it should be.

    `encoded`: texts of which few are different come as the file has them: each of these once, and of each row its number.
    """
    with ExitStack() as stack:
        with readable(f"the file {add['path']}"):
            dead = numbers_of(deletion_vector.read(table, add.get("deletionVector")))
            store, path = store_for(table), file_path(table, add["path"])
            file = stack.enter_context(pq.ParquetFile(store.for_arrow(path), coerce_int96_timestamp_unit="us"))
            if set(file.metadata.metadata or {}) & set(_OLD_CALENDAR):
                raise NotByTasks(f"the file {add['path']} has dates of an older calendar")
            if encoded and (few := _few(file.metadata)):
                file = stack.enter_context(
                    pq.ParquetFile(
                        store.for_arrow(path),
                        metadata=file.metadata,
                        read_dictionary=few,
                        coerce_int96_timestamp_unit="us",
                    )
                )
            leaves, found, first = places(file), [], 0
            for place in range(file.metadata.num_row_groups):
                end = first + file.metadata.row_group(place).num_rows
                if group_may_hold(file, leaves, place, within):
                    mine = dead[np.searchsorted(dead, first) : np.searchsorted(dead, end)]
                    found.append(RowGroup(file, leaves, place, first, mine - first))
                first = end
        yield found


def _few(told: pq.FileMetaData) -> list[str]:
    """Columns of texts that take less of the file than their numbers would: of others, numbers would have to be made."""
    groups = [told.row_group(place) for place in range(told.num_row_groups)]
    names = []
    for place in range(told.num_columns):
        column, pieces = told.schema.column(place), [group.column(place) for group in groups]
        size = sum(piece.total_uncompressed_size for piece in pieces)
        if column.logical_type.type == "STRING" and size < _FEW_BYTES * told.num_rows:
            names.append(column.path)
    return names


def bounded(parts: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """The same tables, all of which are to be held at once. Raises NotByTasks where that is too much for a task."""
    held = 0
    for part in parts:
        held += part.nbytes
        if held > _MOST_HELD:
            raise NotByTasks(f"more than {_MOST_HELD} bytes of the table would have to be held at once")
        yield part


def _typed(values: pa.ChunkedArray | None, column: Stored, group: RowGroup) -> pa.ChunkedArray:
    kind = required_type(column.type)
    if values is not None:
        is_as_asked = pa.types.is_dictionary(values.type) and values.type.value_type == kind
        return values if is_as_asked else values.cast(kind)
    if column.name.lower() in {name.lower() for name in group.file.schema_arrow.names}:
        raise NotByTasks(f"a file spells the column {column.name!r} differently")
    return pa.chunked_array([pa.nulls(group.rows, kind)])
