"""The shop in MySQL, which is asked and filled as MariaDB is."""

from __future__ import annotations

from types import MappingProxyType

from incremental_assets.demo import shop_in_mariadb
from incremental_assets.demo.mysql import EmbeddedMySQL


class Shop(shop_in_mariadb.Shop):
    """Implements `demo.shop.Shop`."""

    database = "MySQL"
    server = EmbeddedMySQL
    # It takes no rows from a client's file unless it is configured to.
    settings = MappingProxyType({**shop_in_mariadb.Shop.settings, "local-infile": "ON"})
