"""SQLite 3, read by Python's own library: the JDBC driver turns a text in a numeric column into 0, and rounds long numbers."""

from __future__ import annotations

from collections.abc import Sequence

from incremental_assets.adapters.databases.dialect import Address, Connections, Dialect, Reader
from incremental_assets.core.checks.doctor import SourceFacts, Wanted


class SQLite:
    """Implements `databases.dialect.Dialect`: it opens nothing and keeps nothing."""

    name = "sqlite"
    java_package = ""

    def connections(self, address: Address) -> Connections:
        """Connections through the `sqlite3` of the standard library."""
        from incremental_assets.adapters.databases.sqlite.session import Connections as Files

        return Files(address)

    def reader(self, address: Address) -> Reader:
        """A reader of files that the snapshot leaves."""
        from incremental_assets.adapters.databases.sqlite.reader import SqliteReader

        return SqliteReader(address)

    def missing_sql(
        self, address: Address, wanted: Sequence[Wanted], facts: SourceFacts | None, whole: Sequence[str] = ()
    ) -> str:
        """The indexes of cursors that are missing; there are no users and no grants."""
        from incremental_assets.adapters.databases.sqlite.sql import index_statements

        return index_statements(facts)


DIALECT: Dialect = SQLite()
