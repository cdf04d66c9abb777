"""The rows of a SQLite file for Spark: read by Python in one transaction, handed over in files or, for a comparison, in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from incremental_assets.adapters.databases.dialect import Address, Numbers, ReadPart
from incremental_assets.adapters.databases.file_part import FilePart
from incremental_assets.adapters.databases.row_texts import key_text, row_hash
from incremental_assets.adapters.databases.sqlite import window_queries
from incremental_assets.adapters.databases.sqlite.errors import explained
from incremental_assets.adapters.databases.sqlite.session import open_file
from incremental_assets.adapters.spark.own_names import HASH, KEY
from incremental_assets.core.errors import IncrementalAssetsError, SourceRefused
from incremental_assets.core.model.table import TableId, TableSpec
from incremental_assets.core.model.window import Window
from incremental_assets.core.planning.plan import SyncPlan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True, slots=True)
class FileReader:
    """Implements `databases.dialect.Reader`."""

    address: Address

    @contextmanager
    def frame(self, session: SparkSession, plan: SyncPlan, numbers: Numbers) -> Iterator[DataFrame]:
        """The file that the snapshot has left, under the source's own names."""
        from incremental_assets.adapters.spark.staged import FLAGS

        yield session.read.parquet(str(numbers.handle)).toDF(*plan.spec.shape.names, *FLAGS)

    def parts(self, plan: SyncPlan, numbers: Numbers) -> tuple[ReadPart, ...] | None:
        """One: the file that the snapshot has left."""
        return (FilePart.of(Path(numbers.handle), plan.spec),)

    def row_hashes(self, session: SparkSession, spec: TableSpec, windows: Sequence[Window]) -> DataFrame:
        """In a transaction of its own."""
        with explained(self.address, spec.id):
            connection = open_file(self.address)
            try:
                connection.execute("BEGIN")
                rows = [
                    (key_text(spec, row.values), row_hash(spec.columns, row.values))
                    for row in window_queries.landable(connection, spec, windows)
                ]
            finally:
                connection.close()
        return session.createDataFrame(rows, f"{KEY} string, {HASH} bigint")

    def unholdable_keys(self, session: SparkSession, spec: TableSpec, windows: Sequence[Window]) -> DataFrame | None:
        """In a transaction of its own."""
        with explained(self.address, spec.id):
            connection = open_file(self.address)
            try:
                keys = (
                    [(key_text(spec, row.values),) for row in window_queries.unfit(connection, spec, windows)]
                    if spec.key
                    else []
                )
            finally:
                connection.close()
        return session.createDataFrame(keys, f"{KEY} string") if keys else None

    def explain(self, words: str, table: TableId) -> IncrementalAssetsError | None:
        """A Spark on other machines does not see the file that was written here."""
        if "rows.parquet" not in words:
            return None
        return SourceRefused(
            f"{table}: Spark does not see the rows that were read on this machine: sync a SQLite file by a session or an engine of the same machine"
        )
