"""PostgreSQL 14 and later, towards Spark: the read of a plan and how its parallel readers connect."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from incremental_assets.adapters.databases.dialect import Address, ReadQuery
from incremental_assets.adapters.databases.postgresql import connect as postgresql_connect
from incremental_assets.adapters.databases.postgresql import measure as postgresql_measure
from incremental_assets.adapters.databases.postgresql import read as postgresql_read
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.window import Window
from incremental_assets.core.planning.plan import SyncPlan


class PostgreSQL:
    """Texts only: it opens nothing and keeps nothing."""

    def read_query(self, plan: SyncPlan, parts: int, *, clean: bool = False, since: int | None = None) -> ReadQuery:
        """The plan's window in up to `parts` disjoint parts; `clean` when the snapshot's own numbers show no rejected row."""
        return postgresql_read.read_query(plan, parts, clean=clean, since=since)

    def jdbc_url(self, address: Address) -> str:
        """With deadlines and TLS, without user and password."""
        return postgresql_connect.jdbc_url(address)

    def jdbc_properties(self, address: Address) -> dict[str, str]:
        """Driver, credentials, fetch size."""
        return postgresql_connect.jdbc_properties(address)

    def session_init(self, snapshot_id: str | None = None, statement_timeout: timedelta = timedelta(minutes=15)) -> str:
        """Spark's `sessionInitStatement`: the shared snapshot if there is one, then the settings under which values print the same."""
        return postgresql_connect.session_init(snapshot_id, statement_timeout)

    def unholdable_keys_query(self, spec: TableSpec, windows: Sequence[Window]) -> str:
        """Keys of rows of the windows that Spark cannot hold, in the column KEY; empty where it holds them all."""
        return postgresql_measure.unholdable_keys_sql(spec, windows)

    def row_hashes_query(self, spec: TableSpec, windows: Sequence[Window]) -> str:
        """Key and hash of every row of the windows, in the columns KEY and HASH of adapters/spark/own_names.py, to find the rows that differ."""
        return postgresql_measure.row_hashes_sql(spec, windows)
