"""The rows of a SQLite file for Spark: read by Python in one transaction, handed over in files or, for a comparison, in memory."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from incremental_assets.adapters.databases.dialect import Address
from incremental_assets.adapters.databases.file_reader import FileReader
from incremental_assets.adapters.databases.local_rows import TEXT_COLUMNS, hashed, hashed_columns, texts
from incremental_assets.adapters.databases.row_texts import key_text
from incremental_assets.adapters.databases.sqlite import window_queries
from incremental_assets.adapters.databases.sqlite.errors import explained
from incremental_assets.adapters.databases.sqlite.session import open_file
from incremental_assets.adapters.spark.own_names import KEY
from incremental_assets.core.concurrency.interruption import this_process
from incremental_assets.core.model.key_parts import KeyParts
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.window import Window

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True, slots=True)
class SqliteReader(FileReader):
    """Implements `databases.dialect.Reader`."""

    address: Address

    def row_hashes(
        self, session: SparkSession, spec: TableSpec, windows: Sequence[Window], places: KeyParts | None = None
    ) -> DataFrame:
        """Keys and hashes, read in a transaction of their own, and held in memory."""
        with self._asking(spec) as connection:
            rows = hashed(spec, window_queries.landable(connection, spec, windows), places)
        return session.createDataFrame(rows, hashed_columns(spec))

    def row_texts(
        self, session: SparkSession, spec: TableSpec, windows: Sequence[Window], places: KeyParts | None = None
    ) -> DataFrame:
        """Keys and texts, read in a transaction of their own, and held in memory."""
        with self._asking(spec) as connection:
            rows = texts(spec, window_queries.landable(connection, spec, windows), places)
        return session.createDataFrame(rows, TEXT_COLUMNS)

    def unholdable_keys(self, session: SparkSession, spec: TableSpec, windows: Sequence[Window]) -> DataFrame | None:
        """The keys, read in a transaction of their own; None where there are none."""
        if not spec.key:
            return None
        with self._asking(spec) as connection:
            keys = [(key_text(spec, row.values),) for row in window_queries.unfit(connection, spec, windows)]
        return session.createDataFrame(keys, f"{KEY} string") if keys else None

    @contextmanager
    def _asking(self, spec: TableSpec) -> Iterator[sqlite3.Connection]:
        with (
            explained(self.address, spec.id),
            closing(open_file(self.address)) as connection,
            this_process.cancelling(connection.interrupt),
        ):
            connection.execute("BEGIN")
            yield connection
