"""A database that is read row by row, as the registry finds it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from incremental_assets.adapters.databases.dialect import Address, Connections, Reader

if TYPE_CHECKING:
    from incremental_assets_experimental.rowwise.row_dialect import RowDialect


class RowDatabase(ABC):
    """What `databases.dialect.Dialect` asks of it but its name and `missing_sql`. What needs a driver is imported when it is asked for."""

    java_package = ""

    @abstractmethod
    def spoken(self) -> RowDialect:
        """How it is asked."""

    def connections(self, address: Address) -> Connections:
        """Connections through the dialect's driver."""
        from incremental_assets_experimental.rowwise.session import Connections as Opened

        return Opened(self.spoken(), address)

    def reader(self, address: Address) -> Reader:
        """A reader of files that the snapshot leaves."""
        from incremental_assets_experimental.rowwise.reader import RowReader

        return RowReader(self.spoken(), address)
