"""SQL Server. What needs a driver is imported when it is asked for."""

from __future__ import annotations

from collections.abc import Sequence

from incremental_assets.adapters.databases.dialect import Address, Connections, Dialect, Reader
from incremental_assets.core.checks.doctor import SourceFacts, Wanted


class SQLServer:
    """Implements `databases.dialect.Dialect`: it opens nothing and keeps nothing."""

    name = "sqlserver"
    java_package = ""

    def connections(self, address: Address) -> Connections:
        """Through python-tds."""
        from incremental_assets.adapters.databases.rowwise.session import Connections as Opened
        from incremental_assets.adapters.databases.sqlserver.row_dialect import TransactSql

        return Opened(TransactSql(), address)

    def reader(self, address: Address) -> Reader:
        """Through files that the snapshot leaves."""
        from incremental_assets.adapters.databases.rowwise.reader import RowReader
        from incremental_assets.adapters.databases.sqlserver.row_dialect import TransactSql

        return RowReader(TransactSql(), address)

    def missing_sql(
        self, address: Address, wanted: Sequence[Wanted], facts: SourceFacts | None, whole: Sequence[str] = ()
    ) -> str:
        """The user, its grants, snapshot isolation, and the indexes of the cursors."""
        from incremental_assets.adapters.databases.sqlserver.doctor import missing_sql

        return missing_sql(address, wanted, facts, whole)


DIALECT: Dialect = SQLServer()
