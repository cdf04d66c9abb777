"""Rows that a snapshot has left in a file of Parquet: a task reads them from there, on the machine where they were written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from incremental_assets.adapters.spark.arrow_types import required_type
from incremental_assets.adapters.spark.own_names import READ_FLAGS
from incremental_assets.core.errors import SourceRefused
from incremental_assets.core.model.table import TableId, TableSpec

_ROWS = 64 * 1024


@dataclass(frozen=True, slots=True)
class FilePart:
    """Implements `databases.dialect.ReadPart`. The file has the source's columns, of these Spark types, then the four flags."""

    path: str
    table: TableId
    types: tuple[str, ...]
    size: int

    @classmethod
    def of(cls, path: Path, spec: TableSpec) -> FilePart:
        """All that a snapshot has left."""
        return cls(str(path), spec.id, tuple(each.spark_type for each in spec.columns), path.stat().st_size)

    def batches(self) -> Iterator[pa.Table]:
        """The rows, some thousands at a time. Raises SourceRefused where the file is another machine's."""
        names = [f"c{place}" for place in range(len(self.types))]
        kinds = [required_type(kind) for kind in self.types]
        try:
            file = pq.ParquetFile(self.path)
        except FileNotFoundError:
            raise of_another_machine(self.table) from None
        with file:
            for batch in file.iter_batches(_ROWS, use_threads=False):
                columns = [batch.column(place).cast(kind) for place, kind in enumerate(kinds)]
                flags = [batch.column(len(kinds) + place) for place in range(len(READ_FLAGS))]
                yield pa.table([*columns, *flags], names=[*names, *READ_FLAGS])


def of_another_machine(table: TableId) -> SourceRefused:
    """The file lies where the source was read."""
    return SourceRefused(
        f"{table}: Spark does not see the rows that were read on this machine: sync this source by a session or an engine of the same machine"
    )
