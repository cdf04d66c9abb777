"""A shop whose tables are read from PostgreSQL's log, by a slot of its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import psycopg

from tests.adapters.logs.log_shop import LogShop
from tests.conformance.stand import Stand
from tests.shop import Shop

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from incremental_assets.demo.postgres import EmbeddedPostgres

SLOT = "shop_log"
ORDERS = "orders (id int PRIMARY KEY, status text, total numeric(10,2), note text)"


@dataclass
class LoggedShop(LogShop[Shop]):
    """`orders` is published and read from PostgreSQL's log; more tables may be."""

    slot: str

    @classmethod
    def open(
        cls,
        server: EmbeddedPostgres,
        database: str,
        folder: Path,
        spark: SparkSession,
        *tables: str,
        more: str = "",
        published: str = "",
    ) -> LoggedShop:
        """Each table by its definition; the first is `orders`. `more`: what is configured of each beside the log; `published`: what the publication is made with."""
        names = [table.split()[0] for table in tables]
        slot = f"{SLOT}_{database}"
        terms = f"capture: log, {more}" if more else "capture: log"
        entries = "\n".join(f"- {{table: public.{name}, {terms}}}" for name in names)
        options = f"unlisted: ignore\nlog: {{slot: {slot}, publication: shop}}"
        shop = Shop.open(server, database, folder, entries, options=options)
        shop.execute(
            "ALTER ROLE reader REPLICATION",
            *(f"CREATE TABLE {table}" for table in tables),
            f"CREATE PUBLICATION shop FOR TABLE {', '.join(names)} {published}",
            f"SELECT pg_create_logical_replication_slot('{slot}', 'pgoutput')",
        )
        return cls(Stand(shop, spark), slot)

    def writing(self) -> psycopg.Connection:
        return self.stand.shop.connect()

    def set_standbys(self, names: str) -> None:
        """Commits wait for one of these from now on."""
        with psycopg.connect(self.stand.shop.postgres.dsn(self.stand.shop.database), autocommit=True) as connection:
            connection.execute(f"ALTER SYSTEM SET synchronous_standby_names = '{names}'".encode())
            connection.execute("SELECT pg_reload_conf()")

    def outside(self, statement: str) -> None:
        """One that may be in no transaction."""
        with psycopg.connect(self.stand.shop.postgres.dsn(self.stand.shop.database), autocommit=True) as connection:
            connection.execute(statement.encode())

    def confirmed(self) -> str:
        ((found,),) = self.stand.shop.rows(
            f"SELECT confirmed_flush_lsn::text FROM pg_replication_slots WHERE slot_name = '{self.slot}'"
        )
        return str(found)


Open = Callable[..., LoggedShop]
"""Opens the shop of a test with these tables; with `orders` alone where none is named."""
