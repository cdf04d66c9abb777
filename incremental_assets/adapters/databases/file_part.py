"""Rows that a snapshot has left in a file of Parquet: a task reads them from there, on the machine where they were written."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from incremental_assets.adapters.spark.arrow_types import required_type
from incremental_assets.adapters.spark.own_names import READ_FLAGS
from incremental_assets.core.errors import SourceRefused
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.table_id import TableId

_ROWS = 64 * 1024
_BYTES, _MOST = 32 << 20, 8
"""How many bytes of a file a part has at the least, and how many parts there are at the most: each becomes a file of its own."""


@dataclass(frozen=True, slots=True)
class FilePart:
    """Implements `spark.read_part.ReadPart`: some groups of rows of a file, which has the source's columns, of these Spark types, then the four flags."""

    path: str
    table: TableId
    types: tuple[str, ...]
    groups: range
    size: int

    @classmethod
    def of(cls, path: Path, spec: TableSpec) -> tuple[FilePart, ...]:
        """All that a snapshot has left, in parts that tasks write side by side."""
        # What is masked, is so in the file.
        types = spec.landed_types
        return tuple(cls(str(path), spec.id, types, groups, size) for groups, size in _shared_out(path))

    @property
    def budget(self) -> None:
        """The file asks nobody."""

    def batches(self) -> Iterator[pa.Table]:
        """The rows, some thousands at a time. Raises SourceRefused where the file is another machine's."""
        names = [f"c{place}" for place in range(len(self.types))]
        kinds = [required_type(kind) for kind in self.types]
        for batch in _batches(self.path, self.table, self.groups):
            columns = [batch.column(place).cast(kind) for place, kind in enumerate(kinds)]
            flags = [batch.column(len(kinds) + place) for place in range(len(READ_FLAGS))]
            yield pa.table([*columns, *flags], names=[*names, *READ_FLAGS])


@dataclass(frozen=True, slots=True)
class RowsPart:
    """Implements `spark.read_part.ReadPart`: some groups of rows of a file, which has them as they land, and says what each does to the copy."""

    path: str
    table: TableId
    groups: range
    size: int

    @classmethod
    def of(cls, path: Path, table: TableId) -> tuple[RowsPart, ...]:
        """All that was written, in parts that tasks take side by side."""
        return tuple(cls(str(path), table, groups, size) for groups, size in _shared_out(path))

    @property
    def budget(self) -> None:
        """The file asks nobody."""

    def batches(self) -> Iterator[pa.Table]:
        """The rows, some thousands at a time. Raises SourceRefused where the file is another machine's."""
        for batch in _batches(self.path, self.table, self.groups):
            yield pa.Table.from_batches([batch])


def _batches(path: str, table: TableId, groups: range) -> Iterator[pa.RecordBatch]:
    try:
        file = pq.ParquetFile(path)
    except FileNotFoundError:
        raise of_another_machine(table) from None
    with file:
        yield from file.iter_batches(_ROWS, row_groups=list(groups), use_threads=False)


def _shared_out(path: Path) -> Iterator[tuple[range, int]]:
    """The groups of rows of each part, and about how many bytes they have."""
    groups, size = pq.read_metadata(path).num_row_groups, path.stat().st_size
    count = max(1, min(_MOST, groups, size // _BYTES))
    ends = [groups * part // count for part in range(count + 1)]
    for first, end in itertools.pairwise(ends):
        yield range(first, end), size // count


def of_another_machine(table: TableId) -> SourceRefused:
    """The file lies where the source was read."""
    return SourceRefused(
        f"{table}: Spark does not see the rows that were read on this machine: sync this source by a session or an engine of the same machine"
    )
