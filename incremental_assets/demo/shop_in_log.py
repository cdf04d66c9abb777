"""The shop in a PostgreSQL whose log is decoded, with the publication and the slot that `log.yaml` names."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import psycopg
from psycopg import sql

from incremental_assets.demo import shop_in_postgresql
from incremental_assets.demo.postgres import EmbeddedPostgres
from incremental_assets.demo.tpch import DATABASE, READER

SLOT = "tpch"
"""Its publication has the same name."""


class Shop(shop_in_postgresql.Shop):
    """Implements `demo.shop.Shop`."""

    def __init__(self, folder: Path) -> None:
        self._server = EmbeddedPostgres(folder, settings={"wal_level": "logical"})

    def prepare(self, scale: Decimal, on_table: Callable[[str, int], None]) -> bool:
        """The slot comes after the data, so that the log holds the days alone."""
        made = super().prepare(scale, on_table)
        with psycopg.connect(self._server.dsn(DATABASE), autocommit=True) as connection:
            if not connection.execute("SELECT 1 FROM pg_replication_slots WHERE slot_name = %s", [SLOT]).fetchone():
                connection.execute(sql.SQL("ALTER ROLE {} REPLICATION").format(sql.Identifier(READER)))
                connection.execute(sql.SQL("DROP PUBLICATION IF EXISTS {}").format(sql.Identifier(SLOT)))
                connection.execute(
                    sql.SQL("CREATE PUBLICATION {} FOR TABLES IN SCHEMA public").format(sql.Identifier(SLOT))
                )
                connection.execute("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", [SLOT])
        return made
