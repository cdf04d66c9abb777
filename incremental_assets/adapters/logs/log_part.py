"""Rows of a batch that was made of changes, in a file beside the segments, as a task reads them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq

_ROWS = 64 * 1024


@dataclass(frozen=True, slots=True)
class LogPart:
    """Implements `spark.read_part.ReadPart`. Its rows say what they do to the copy."""

    path: str
    size: int

    @property
    def budget(self) -> None:
        """The file asks nobody."""

    def batches(self) -> Iterator[pa.Table]:
        """The rows, some thousands at a time."""
        with pq.ParquetFile(self.path) as file:
            for batch in file.iter_batches(_ROWS, use_threads=False):
                yield pa.Table.from_batches([batch])
