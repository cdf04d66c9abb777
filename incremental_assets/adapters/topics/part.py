"""Rows of a range in a file, as a task reads them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq

from incremental_assets.adapters.databases.file_part import of_another_machine
from incremental_assets.core.model.table import TableId

_ROWS = 64 * 1024


@dataclass(frozen=True, slots=True)
class TopicPart:
    """Implements `spark.read_part.ReadPart`. Its rows say what they do to the copy."""

    path: str
    table: TableId
    size: int

    @property
    def budget(self) -> None:
        """The file asks nobody."""

    def batches(self) -> Iterator[pa.Table]:
        """The rows, some thousands at a time. Raises SourceRefused where the file is another machine's."""
        try:
            file = pq.ParquetFile(self.path)
        except FileNotFoundError:
            raise of_another_machine(self.table) from None
        with file:
            for batch in file.iter_batches(_ROWS, use_threads=False):
                yield pa.Table.from_batches([batch])
