"""The rows of a snapshot for Spark: read by Python, and handed over in files or, where a comparison asks, in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from incremental_assets.adapters.databases.dialect import Address
from incremental_assets.adapters.databases.file_reader import FileReader
from incremental_assets.adapters.databases.local_rows import TEXT_COLUMNS, hashed, hashed_columns, texts
from incremental_assets.adapters.databases.row_texts import key_text
from incremental_assets.adapters.spark.own_names import KEY
from incremental_assets.core.concurrency.interruption import this_process
from incremental_assets.core.model.key_parts import KeyParts
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.window import Window
from incremental_assets_experimental.rowwise import queries
from incremental_assets_experimental.rowwise.row_dialect import RowConnection, RowDialect
from incremental_assets_experimental.rowwise.session import explained

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True, slots=True)
class RowReader(FileReader):
    """Implements `databases.dialect.Reader`."""

    dialect: RowDialect
    address: Address

    def row_hashes(
        self, session: SparkSession, spec: TableSpec, windows: Sequence[Window], places: KeyParts | None = None
    ) -> DataFrame:
        """Keys and hashes, read in a snapshot of their own, and held in memory."""
        with self._asking(spec) as connection:
            rows = hashed(spec, queries.landable(self.dialect, connection, spec, windows), places)
        return session.createDataFrame(rows, hashed_columns(spec))

    def row_texts(
        self, session: SparkSession, spec: TableSpec, windows: Sequence[Window], places: KeyParts | None = None
    ) -> DataFrame:
        """Keys and texts, read in a snapshot of their own, and held in memory."""
        with self._asking(spec) as connection:
            rows = texts(spec, queries.landable(self.dialect, connection, spec, windows), places)
        return session.createDataFrame(rows, TEXT_COLUMNS)

    def unholdable_keys(self, session: SparkSession, spec: TableSpec, windows: Sequence[Window]) -> DataFrame | None:
        """The keys, read in a snapshot of their own; None where there are none."""
        if not spec.key:
            return None
        with self._asking(spec) as connection:
            keys = [(key_text(spec, row.values),) for row in queries.unfit(self.dialect, connection, spec, windows)]
        return session.createDataFrame(keys, f"{KEY} string") if keys else None

    @contextmanager
    def _asking(self, spec: TableSpec) -> Iterator[RowConnection]:
        with explained(self.dialect, self.address, spec.id):
            connection = self.dialect.connect(self.address)
            try:
                with this_process.cancelling(connection.abort), connection.snapshot():
                    yield connection
            finally:
                connection.close()
