"""A plan's window as a DataFrame: one snapshot of the source, shared by all parallel readers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from incremental_assets.adapters.databases.dialect import Address, ReadQuery
from incremental_assets.adapters.databases.postgresql.dialect import PostgreSQL
from incremental_assets.adapters.databases.postgresql.errors import read_explained
from incremental_assets.adapters.databases.probe import SqlProbe
from incremental_assets.core.model.cursor import CursorValue
from incremental_assets.core.model.schema_drift import check_names
from incremental_assets.core.model.state import Fingerprint
from incremental_assets.core.model.table import TableShape
from incremental_assets.core.planning.plan import SyncPlan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PART_BYTES = 16 * 2**20
"""What one connection reads in about half a second: below it a second one costs more than it brings."""
SCAN_SHARE = 0.2
"""From this share of a table on, reading by ranges of blocks beats one reader that follows an index."""

UNKNOWN_WIDTH = 200
"""Bytes of a row where the source has not counted its rows yet."""


@dataclass(frozen=True, slots=True)
class SparkSnapshot:
    """Implements `core.ports.Snapshot`. `frame` holds the source's columns in its order, then the four flags of the read."""

    rows: int
    rejected: int
    nulls: int
    highest: CursorValue | None
    due: CursorValue | None
    visible: str
    fingerprint: Fingerprint | None
    frame: Any


class SparkSource:
    """Implements `core.ports.Source` over Spark's JDBC reader."""

    def __init__(self, probe: SqlProbe, address: Address, session: Callable[[], SparkSession]) -> None:
        self._probe, self._address, self._session = probe, address, session
        self._dialect = PostgreSQL()

    @contextmanager
    def snapshot(self, plan: SyncPlan) -> Iterator[SparkSnapshot]:
        """Open one snapshot, held until the block ends; its frame reads nothing before it is written."""
        check_names(plan.spec)
        with self._probe.snapshot(plan) as held:
            most = min(self._address.connections, plan.request.connections or self._address.connections)
            parts = parts_for(plan.spec.shape, held.rows, most)
            query = self._dialect.read_query(plan, parts, clean=held.rejected == 0, since=held.since)
            with read_explained(self._address, plan.spec.id):
                yield SparkSnapshot(
                    rows=held.rows,
                    rejected=held.rejected,
                    nulls=held.nulls,
                    highest=held.highest,
                    due=held.due,
                    visible=held.visible,
                    fingerprint=held.fingerprint,
                    frame=self._frame(query, held.snapshot_id),
                )

    def _frame(self, query: ReadQuery, snapshot_id: str) -> DataFrame:
        reader = self._session().read
        from incremental_assets.adapters.databases.arrival import arrived

        properties = self._dialect.jdbc_properties(self._address)
        properties["sessionInitStatement"] = self._dialect.session_init(snapshot_id, self._address.statement_timeout)
        url, relation = self._dialect.jdbc_url(self._address), f"({query.sql}) AS q"
        if query.parts:
            read = reader.jdbc(url, relation, predicates=list(query.parts), properties=properties)
        else:
            read = reader.jdbc(url, relation, properties=properties)
        return arrived(read, query.transports)


def parts_for(shape: TableShape, rows: int, connections: int) -> int:
    """How many connections read at once: by the bytes to come, and only where much of the table is asked for."""
    width = shape.bytes / shape.rows if shape.rows > 0 else UNKNOWN_WIDTH
    expected = min(shape.bytes, rows * width)
    if not shape.splits or expected < shape.bytes * SCAN_SHARE:
        return 1
    return max(1, min(connections, round(expected / PART_BYTES)))
