"""A shop in a MariaDB or MySQL whose tables are read from the binlog."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pymysql

from incremental_assets.demo.mariadb import EmbeddedMariaDB
from incremental_assets.demo.mysql import EmbeddedMySQL
from tests.adapters.logs.log_shop import LogShop
from tests.conformance.stand import Stand
from tests.conformance.worlds import MariaWorld, MySQLWorld

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ORDERS = "orders (id int PRIMARY KEY, status varchar(20), total decimal(10,2), note text)"
_numbers = itertools.count(1)


def world_of(server: EmbeddedMariaDB, folder: Path) -> MariaWorld:
    """A database of its own, whose reader may read the log."""
    kind = MySQLWorld if isinstance(server, EmbeddedMySQL) else MariaWorld
    world = kind(server, f"binlog_{next(_numbers)}", folder)
    world.prepare()
    world.execute("GRANT REPLICATION SLAVE, REPLICATION CLIENT, RELOAD ON *.* TO reader@'127.0.0.1'")
    return world


@dataclass
class BinlogShop(LogShop[MariaWorld]):
    """`orders` is read from the binlog; more tables may be."""

    @classmethod
    def open(
        cls, server: EmbeddedMariaDB, folder: Path, spark: SparkSession, *tables: str, more: str = ""
    ) -> BinlogShop:
        """Each table by its definition; the first is `orders`. `more`: what is configured of each beside the log."""
        world = world_of(server, folder)
        terms = f"capture: log, {more}" if more else "capture: log"
        names = [table.split()[0] for table in tables]
        world.configure("\n".join(f"- {{table: {world.database}.{name}, {terms}}}" for name in names))
        world.execute(*(f"CREATE TABLE {table}" for table in tables))
        return cls(Stand(world, spark))

    def writing(self) -> pymysql.Connection:
        connection: pymysql.Connection = self.stand.shop.session().connection
        with connection.cursor() as cursor:
            # Writers of different rows do not wait for each other.
            cursor.execute("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")
        return connection

    def follow_the_port(self) -> None:
        """The server may have come up at another one."""
        config = self.stand.shop.config
        config.write_text(re.sub(r"port: \d+", f"port: {self.stand.shop.port}", config.read_text()))


OpenBinlog = Callable[..., BinlogShop]
"""Opens the shop of a test with these tables; with `orders` alone where none is named."""
