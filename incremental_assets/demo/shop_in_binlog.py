"""The shop in a MariaDB that writes a binlog by rows, which its reader may read."""

from __future__ import annotations

from types import MappingProxyType

from incremental_assets.demo import shop_in_mariadb
from incremental_assets.demo.tpch import READER

_BY_ROWS = {
    "log-bin": "binlog",
    "binlog-format": "ROW",
    "binlog-row-image": "FULL",
    "binlog-row-metadata": "FULL",
}


class Shop(shop_in_mariadb.Shop):
    """Implements `demo.shop.Shop`."""

    settings = MappingProxyType({**shop_in_mariadb.Shop.settings, **_BY_ROWS})

    def start(self) -> str:
        """The server as a primary of replicas."""
        where = super().start()
        with self._server.connect() as connection, connection.cursor() as cursor:
            cursor.execute(f"GRANT REPLICATION SLAVE, BINLOG MONITOR ON *.* TO {READER}@'{self._server.host}'")
        return where
