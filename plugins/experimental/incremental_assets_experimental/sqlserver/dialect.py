"""SQL Server. What needs a driver is imported when it is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from incremental_assets.adapters.databases.dialect import Address, Dialect
from incremental_assets.core.checks.doctor import SourceFacts, Wanted
from incremental_assets_experimental.rowwise.database import RowDatabase

if TYPE_CHECKING:
    from incremental_assets_experimental.rowwise.row_dialect import RowDialect


class SQLServer(RowDatabase):
    """Implements `databases.dialect.Dialect`: it opens nothing and keeps nothing."""

    name = "sqlserver"

    def spoken(self) -> RowDialect:
        """The dialect through python-tds."""
        from incremental_assets_experimental.sqlserver.row_dialect import SQL_SERVER

        return SQL_SERVER

    def missing_sql(
        self, address: Address, wanted: Sequence[Wanted], facts: SourceFacts | None, whole: Sequence[str] = ()
    ) -> str:
        """The user, its grants, snapshot isolation, and the indexes of the cursors."""
        from incremental_assets_experimental.sqlserver.doctor import missing_sql

        return missing_sql(address, wanted, facts, whole)


DIALECT: Dialect = SQLServer()
