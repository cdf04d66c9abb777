"""The rows of a snapshot for Spark: read by Python in one transaction, and handed over in files or, where a comparison asks, in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from incremental_assets.adapters.databases.condition import Condition
from incremental_assets.adapters.databases.dialect import Address
from incremental_assets.adapters.databases.file_reader import FileReader
from incremental_assets.adapters.databases.mysql.connect import Connection
from incremental_assets.adapters.databases.mysql.errors import explained
from incremental_assets.adapters.databases.mysql.window_queries import row_hashes_sql, unholdable_keys_sql
from incremental_assets.adapters.spark.own_names import HASH, KEY
from incremental_assets.core.interruption import this_process
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
        """Keys and hashes, read in a statement of their own, and held in memory."""
        found = self._ask(spec, row_hashes_sql(spec, windows, places))
        return session.createDataFrame([(key, int(digest)) for key, digest in found], f"{KEY} string, {HASH} bigint")

    def unholdable_keys(self, session: SparkSession, spec: TableSpec, windows: Sequence[Window]) -> DataFrame | None:
        """The keys, read in a statement of their own; None where there are none."""
        query = unholdable_keys_sql(spec, windows)
        keys = [] if query is None else self._ask(spec, query)
        return session.createDataFrame(keys, f"{KEY} string") if keys else None

    def _ask(self, spec: TableSpec, query: Condition) -> list[tuple[Any, ...]]:
        with explained(self.address):
            connection = Connection(self.address)
        try:
            with explained(self.address, spec.id), this_process.cancelling(connection.abort):
                return list(connection.rows(query.sql, query.values))
        finally:
            connection.close()
