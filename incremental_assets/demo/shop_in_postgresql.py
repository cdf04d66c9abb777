"""The shop in PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from decimal import Decimal
from pathlib import Path

import psycopg

from incremental_assets.demo.day import DayReport, LateTransaction, fix_part, live_a_day, open_shop
from incremental_assets.demo.postgres import EmbeddedPostgres
from incremental_assets.demo.tpch import DATABASE, READER, loaded_scale, prepare_shop


class Shop:
    """Implements `demo.shop.Shop`."""

    database = "PostgreSQL"
    schema = "public"
    size = 2**30

    def __init__(self, folder: Path) -> None:
        self._server = EmbeddedPostgres(folder)

    def start(self) -> str:
        """The server, its database and the reader's account."""
        self._server.start()
        self._server.create_database(DATABASE)
        self._server.create_login(READER)
        return f"{self._server.host}:{self._server.port}"

    def stop(self) -> None:
        """The server."""
        self._server.stop()

    def remove(self) -> None:
        """The server and its data."""
        self._server.remove()

    def access(self) -> Mapping[str, str]:
        """Its port, which is chosen when it is made, and the reader's password."""
        return {"port": str(self._server.port), "reader.password": self._server.password_of(READER)}

    def loaded_scale(self) -> Decimal | None:
        """The scale in the schema's comment; None without one."""
        with psycopg.connect(self._server.dsn(DATABASE)) as connection:
            return loaded_scale(connection)

    def prepare(self, scale: Decimal, on_table: Callable[[str, int], None]) -> bool:
        """All in one transaction."""
        return prepare_shop(self._server, scale, on_table)

    def late(self, seed: int) -> AbstractContextManager[LateTransaction]:
        """A late transaction on a connection of its own."""
        return LateTransaction(self._server.dsn(DATABASE), seed=seed)

    def open(self, seed: int) -> None:
        """The first changes of the day."""
        with self._connected() as connection:
            open_shop(connection, seed=seed)

    def live_a_day(self, seed: int) -> DayReport:
        """The others."""
        with self._connected() as connection:
            return live_a_day(connection, seed=seed)

    def fix(self, day: DayReport) -> None:
        """The part's size."""
        with self._connected() as connection:
            fix_part(connection, day)

    def _connected(self) -> psycopg.Connection:
        return psycopg.connect(self._server.dsn(DATABASE), autocommit=True)
