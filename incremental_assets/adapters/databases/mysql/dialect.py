"""MariaDB 10.6 and MySQL 8.0, and later. What needs a driver is imported when it is asked for."""

from __future__ import annotations

from collections.abc import Sequence

from incremental_assets.adapters.databases.dialect import Address, Connections, Dialect, Reader
from incremental_assets.core.checks.doctor import SourceFacts, Wanted
from incremental_assets.core.extras import Extra

DRIVER = Extra("mysql", "the driver of MariaDB and MySQL is not installed", ("pymysql",))


class MySQL:
    """Implements `databases.dialect.Dialect`: it opens nothing and keeps nothing."""

    java_package = ""

    def __init__(self, name: str) -> None:
        self.name = name

    def connections(self, address: Address) -> Connections:
        """Connections through PyMySQL."""
        DRIVER.require()
        from incremental_assets.adapters.databases.mysql.session import Connections as Opened

        return Opened(address)

    def reader(self, address: Address) -> Reader:
        """A reader of files that the snapshot leaves."""
        DRIVER.require()
        from incremental_assets.adapters.databases.mysql.reader import MySqlReader

        return MySqlReader(address)

    def missing_sql(
        self, address: Address, wanted: Sequence[Wanted], facts: SourceFacts | None, whole: Sequence[str] = ()
    ) -> str:
        """The user, its grants, and the indexes of the cursors."""
        from incremental_assets.adapters.databases.mysql.doctor import missing_sql

        return missing_sql(address, wanted, facts, whole)


DIALECT: Dialect = MySQL("mysql")
MARIADB: Dialect = MySQL("mariadb")
