"""The rows of a snapshot, read in parallel on connections that import it: by COPY in Spark's tasks, or by Spark's JDBC reader."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from incremental_assets.adapters.databases.dialect import Address, Numbers
from incremental_assets.adapters.databases.file_part import FilePart
from incremental_assets.adapters.databases.file_reader import left_in, of_rows_elsewhere
from incremental_assets.adapters.databases.jdbc import Jdbc, ReadQuery, arrived, bytes_of, masked, parts_for
from incremental_assets.adapters.databases.masked_rows import MaskedPart, Masking
from incremental_assets.adapters.databases.postgresql.connect import jdbc_properties, jdbc_url, session_init
from incremental_assets.adapters.databases.postgresql.errors import POOLED_OUT, explain_read
from incremental_assets.adapters.databases.postgresql.pinned import Limits
from incremental_assets.adapters.databases.postgresql.rows.copy_part import CopyPart
from incremental_assets.adapters.databases.postgresql.rows.measure import unholdable_keys_sql
from incremental_assets.adapters.databases.postgresql.rows.places import row_hashes_sql, row_texts_sql
from incremental_assets.adapters.databases.postgresql.rows.read import read_query
from incremental_assets.adapters.spark import error_text
from incremental_assets.adapters.spark.own_names import READ_FLAGS
from incremental_assets.adapters.spark.read_part import ReadPart
from incremental_assets.core.captures.database.reading import of_database
from incremental_assets.core.errors import IncrementalAssetsError, SourceFull
from incremental_assets.core.model.key_parts import KeyParts
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.model.window import Window
from incremental_assets.core.planning.plan import SyncPlan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_UNREAD = "Read timed out"
"""What the JDBC driver says of a server that is silent."""


@dataclass(frozen=True, slots=True)
class JdbcReader:
    """Implements `databases.dialect.Reader`."""

    address: Address

    @contextmanager
    def frame(self, session: SparkSession, plan: SyncPlan, numbers: Numbers) -> Iterator[DataFrame]:
        """The plan's window in disjoint parts; the connection that counted holds the snapshot, or has read it."""
        if isinstance(numbers.handle, Path):
            yield left_in(numbers.handle, session, plan)
            return
        wanted = max(1, len(self._query(plan, numbers, self.address.connections).parts))
        with self.address.budget.readers(wanted) as connections, self._lent(plan, numbers):
            query = self._query(plan, numbers, connections)
            read = self._jdbc(numbers.handle.snapshot_id, marked=numbers.handle.marked).read(
                session, query.sql, query.parts
            )
            yield masked(arrived(read, query.transports), plan.spec)

    def parts(self, plan: SyncPlan, numbers: Numbers) -> tuple[ReadPart, ...] | None:
        """The parts by COPY, each on a connection of its own that imports the snapshot; those of a file where the snapshot's own has read it."""
        if isinstance(numbers.handle, Path):
            return FilePart.of(numbers.handle, plan.spec)
        queries = [self._query(each, numbers, self.address.connections) for each in _ranged(plan)]
        types = tuple(column.spark_type for column in plan.spec.columns)
        texts = [text for query in queries for text in _texts(query)]
        size = bytes_of(plan.spec.shape, numbers.rows) // len(texts)
        address, held = self.address.for_tasks, numbers.handle
        parts = tuple(
            CopyPart(address, plan.spec.id, text, held.snapshot_id, held.marked, types, size, held.pooled)
            for text in texts
        )
        masking = Masking.of(plan.spec)
        return parts if masking is None else tuple(MaskedPart(part, masking) for part in parts)

    def row_hashes(
        self, session: SparkSession, spec: TableSpec, windows: Sequence[Window], places: KeyParts | None = None
    ) -> DataFrame:
        """Keys and hashes, read in a snapshot of their own when Spark evaluates the frame."""
        return self._jdbc().read(session, row_hashes_sql(spec, windows, places))

    def row_texts(
        self, session: SparkSession, spec: TableSpec, windows: Sequence[Window], places: KeyParts | None = None
    ) -> DataFrame:
        """Keys and texts, read in a snapshot of their own when Spark evaluates the frame."""
        return self._jdbc().read(session, row_texts_sql(spec, windows, places))

    def unholdable_keys(self, session: SparkSession, spec: TableSpec, windows: Sequence[Window]) -> DataFrame | None:
        """The keys, read in a snapshot of their own when Spark evaluates the frame; None where no row can be such."""
        sql = unholdable_keys_sql(spec, windows)
        return self._jdbc().read(session, sql) if sql else None

    def explain(self, words: str, table: TableId) -> IncrementalAssetsError | None:
        """What the JDBC driver raised, or Spark on another machine that does not see a file of this one."""
        if unseen := of_rows_elsewhere(words, table):
            return unseen
        return explain_read(words, self.address, table)

    @contextmanager
    def _lent(self, plan: SyncPlan, numbers: Numbers) -> Iterator[None]:
        """A pooler that has no connection left for a reader is silent, as long as the snapshot's own is held."""
        try:
            yield
        except Exception as error:
            if numbers.handle.pooled and _UNREAD in error_text.words(error):
                raise SourceFull(f"{plan.spec.id}: {POOLED_OUT.format(_UNREAD)}") from None
            raise

    def _query(self, plan: SyncPlan, numbers: Numbers, connections: int) -> ReadQuery:
        most = min(connections, plan.request.connections or connections)
        # A range has a session of its own already, and is found by the index of the key, not by blocks.
        parts = 1 if of_database(plan).ranges else parts_for(plan.spec.shape, numbers.rows, most)
        return read_query(plan, parts, clean=numbers.rejected == 0, since=numbers.handle.since)

    def _jdbc(self, snapshot_id: str | None = None, *, marked: bool = False) -> Jdbc:
        init = session_init(snapshot_id, Limits(self.address.statement_timeout, marked))
        return Jdbc(jdbc_url(self.address), jdbc_properties(self.address) | {"sessionInitStatement": init})


def _ranged(plan: SyncPlan) -> list[SyncPlan]:
    """A plan for each of its ranges of the key; the plan as it is where it has none."""
    reading = of_database(plan)
    return [replace(plan, reading=replace(reading, ranges=(each,))) for each in reading.ranges] or [plan]


def _texts(query: ReadQuery) -> list[str]:
    """A statement for each part."""
    names = ", ".join([*(each.alias for each in query.transports), *READ_FLAGS])
    return [f"SELECT {names} FROM ({query.sql}) AS q WHERE {part}" for part in query.parts] or [query.sql]
