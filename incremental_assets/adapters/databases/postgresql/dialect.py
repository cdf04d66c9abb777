"""PostgreSQL 14 and later. Drivers are imported only when they are needed."""

from __future__ import annotations

from collections.abc import Sequence

from incremental_assets.adapters.databases.dialect import Address, Connections, Dialect, Reader
from incremental_assets.core.checks.doctor import SourceFacts, Wanted


class PostgreSQL:
    """Implements `databases.dialect.Dialect`: it opens nothing and keeps nothing."""

    name = "postgresql"
    java_package = "org.postgresql"

    def connections(self, address: Address) -> Connections:
        """Connections through psycopg."""
        from incremental_assets.adapters.databases.postgresql.session import Connections as Pool

        return Pool(address)

    def reader(self, address: Address) -> Reader:
        """A reader by COPY in Spark's tasks, or by Spark's JDBC reader where there are none."""
        from incremental_assets.adapters.databases.postgresql.rows.reader import JdbcReader

        return JdbcReader(address)

    def missing_sql(
        self, address: Address, wanted: Sequence[Wanted], facts: SourceFacts | None, whole: Sequence[str] = ()
    ) -> str:
        """The role, its grants, and the indexes of the cursors."""
        from incremental_assets.adapters.databases.postgresql.advice.doctor import missing_sql

        return missing_sql(address, wanted, facts, whole)


DIALECT: Dialect = PostgreSQL()
