"""The rows of a snapshot for Spark: read by Python in one transaction, and handed over in files or, where a comparison asks, in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from incremental_assets.adapters.databases.dialect import Address
from incremental_assets.adapters.databases.file_reader import FileReader
from incremental_assets.adapters.databases.local_rows import TEXT_COLUMNS, hashed_columns
from incremental_assets.adapters.databases.mysql.connect import Connection
from incremental_assets.adapters.databases.mysql.errors import explained
from incremental_assets.adapters.databases.mysql.window_queries import row_hashes, row_texts, unholdable_keys
from incremental_assets.adapters.spark.own_names import KEY
from incremental_assets.core.concurrency.interruption import this_process
from incremental_assets.core.model.key_parts import KeyParts
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.window import Window

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True, slots=True)
class MySqlReader(FileReader):
    """Implements `databases.dialect.Reader`."""

    address: Address

    def row_hashes(
        self, session: SparkSession, spec: TableSpec, windows: Sequence[Window], places: KeyParts | None = None
    ) -> DataFrame:
        """Keys and hashes, read in a snapshot of their own, and held in memory."""
        with self._asking(spec) as connection:
            found = row_hashes(connection, spec, windows, places)
        return session.createDataFrame(found, hashed_columns(spec))

    def row_texts(
        self, session: SparkSession, spec: TableSpec, windows: Sequence[Window], places: KeyParts | None = None
    ) -> DataFrame:
        """Keys and texts, read in a snapshot of their own, and held in memory."""
        with self._asking(spec) as connection:
            found = row_texts(connection, spec, windows, places)
        return session.createDataFrame(found, TEXT_COLUMNS)

    def unholdable_keys(self, session: SparkSession, spec: TableSpec, windows: Sequence[Window]) -> DataFrame | None:
        """The keys, read in a snapshot of their own; None where there are none."""
        with self._asking(spec) as connection:
            keys = [(key,) for key in unholdable_keys(connection, spec, windows)]
        return session.createDataFrame(keys, f"{KEY} string") if keys else None

    @contextmanager
    def _asking(self, spec: TableSpec) -> Iterator[Connection]:
        with explained(self.address):
            connection = Connection(self.address)
        try:
            with explained(self.address, spec.id), this_process.cancelling(connection.abort), connection.snapshot():
                yield connection
        finally:
            connection.close()
