"""The rows of a snapshot for Spark: read by Python in one transaction, and handed over in files or, where a comparison asks, in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from incremental_assets.adapters.databases.condition import Condition
from incremental_assets.adapters.databases.dialect import Address, Numbers, ReadPart
from incremental_assets.adapters.databases.file_part import FilePart
from incremental_assets.adapters.databases.mysql.connect import Connection
from incremental_assets.adapters.databases.mysql.errors import explained
from incremental_assets.adapters.databases.mysql.window_queries import row_hashes_sql, unholdable_keys_sql
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

    def parts(self, plan: SyncPlan, numbers: Numbers) -> tuple[ReadPart, ...] | None:
        """One: the file that the snapshot has left."""
        return (FilePart.of(Path(numbers.handle), plan.spec),)

    @contextmanager
    def frame(self, session: SparkSession, plan: SyncPlan, numbers: Numbers) -> Iterator[DataFrame]:
        """The file that the snapshot has left, under the source's own names."""
        from incremental_assets.adapters.spark.staged import FLAGS

        yield session.read.parquet(str(numbers.handle)).toDF(*plan.spec.shape.names, *FLAGS)

    def row_hashes(self, session: SparkSession, spec: TableSpec, windows: Sequence[Window]) -> DataFrame:
        """In a statement of its own."""
        found = self._ask(spec, row_hashes_sql(spec, windows))
        return session.createDataFrame([(key, int(digest)) for key, digest in found], f"{KEY} string, {HASH} bigint")

    def unholdable_keys(self, session: SparkSession, spec: TableSpec, windows: Sequence[Window]) -> DataFrame | None:
        """In a statement of its own."""
        query = unholdable_keys_sql(spec, windows)
        keys = [] if query is None else self._ask(spec, query)
        return session.createDataFrame(keys, f"{KEY} string") if keys else None

    def explain(self, words: str, table: TableId) -> IncrementalAssetsError | None:
        """A Spark on other machines does not see the file that was written here."""
        if "rows.parquet" not in words:
            return None
        return SourceRefused(
            f"{table}: Spark does not see the rows that were read on this machine: sync this source by a session or an engine of the same machine"
        )

    def _ask(self, spec: TableSpec, query: Condition) -> list[tuple[Any, ...]]:
        with explained(self.address, spec.id):
            connection = Connection(self.address)
            try:
                return list(connection.rows(query.sql, query.values))
            finally:
                connection.close()
