"""The rows of a snapshot that Python has read: handed over to Spark in the file that it left."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from incremental_assets.adapters.databases.dialect import Numbers
from incremental_assets.adapters.databases.file_part import FilePart, of_another_machine
from incremental_assets.adapters.spark.read_part import ReadPart
from incremental_assets.core.errors import IncrementalAssetsError
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.planning.plan import SyncPlan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class FileReader:
    """What such databases share of `databases.dialect.Reader`."""

    __slots__ = ()

    def parts(self, plan: SyncPlan, numbers: Numbers) -> tuple[ReadPart, ...] | None:
        """The rows of the file that the snapshot has left, in parts by row groups."""
        return FilePart.of(Path(numbers.handle), plan.spec)

    @contextmanager
    def frame(self, session: SparkSession, plan: SyncPlan, numbers: Numbers) -> Iterator[DataFrame]:
        """The file that the snapshot has left, under the source's own names."""
        yield left_in(Path(numbers.handle), session, plan)

    def explain(self, words: str, table: TableId) -> IncrementalAssetsError | None:
        """A Spark on other machines does not see the file that was written here."""
        return of_rows_elsewhere(words, table)


def left_in(file: Path, session: SparkSession, plan: SyncPlan) -> DataFrame:
    """The rows that a snapshot has left in a file, under the source's own names."""
    from incremental_assets.adapters.spark.staged import FLAGS

    return session.read.parquet(str(file)).toDF(*plan.spec.shape.names, *FLAGS)


def of_rows_elsewhere(words: str, table: TableId) -> IncrementalAssetsError | None:
    """The error of a Spark that does not see such a file, by its words; None for any other."""
    return of_another_machine(table) if "rows.parquet" in words else None
