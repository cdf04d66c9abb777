"""The rows of a snapshot, read in parallel by Spark's JDBC reader: each of its connections imports the snapshot."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from incremental_assets.adapters.databases.dialect import Address, Numbers
from incremental_assets.adapters.databases.jdbc import Jdbc, arrived, parts_for
from incremental_assets.adapters.databases.postgresql.connect import jdbc_properties, jdbc_url, session_init
from incremental_assets.adapters.databases.postgresql.errors import explain_read
from incremental_assets.adapters.databases.postgresql.measure import row_hashes_sql, unholdable_keys_sql
from incremental_assets.adapters.databases.postgresql.read import read_query
from incremental_assets.core.errors import IncrementalAssetsError
from incremental_assets.core.model.table import TableId, TableSpec
from incremental_assets.core.model.window import Window
from incremental_assets.core.planning.plan import SyncPlan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True, slots=True)
class JdbcReader:
    """Implements `databases.dialect.Reader`."""

    address: Address

    @contextmanager
    def frame(self, session: SparkSession, plan: SyncPlan, numbers: Numbers) -> Iterator[DataFrame]:
        """The plan's window in disjoint parts; the connection that counted holds the snapshot."""
        most = min(self.address.connections, plan.request.connections or self.address.connections)
        parts = parts_for(plan.spec.shape, numbers.rows, most)
        held = numbers.handle
        query = read_query(plan, parts, clean=numbers.rejected == 0, since=held.since)
        yield arrived(self._jdbc(held.snapshot_id).read(session, query.sql, query.parts), query.transports)

    def row_hashes(self, session: SparkSession, spec: TableSpec, windows: Sequence[Window]) -> DataFrame:
        """In a snapshot of its own."""
        return self._jdbc().read(session, row_hashes_sql(spec, windows))

    def unholdable_keys(self, session: SparkSession, spec: TableSpec, windows: Sequence[Window]) -> DataFrame | None:
        """In a snapshot of its own."""
        sql = unholdable_keys_sql(spec, windows)
        return self._jdbc().read(session, sql) if sql else None

    def explain(self, words: str, table: TableId) -> IncrementalAssetsError | None:
        """What the JDBC driver raised."""
        return explain_read(words, self.address, table)

    def _jdbc(self, snapshot_id: str | None = None) -> Jdbc:
        init = session_init(snapshot_id, self.address.statement_timeout)
        return Jdbc(jdbc_url(self.address), jdbc_properties(self.address) | {"sessionInitStatement": init})
