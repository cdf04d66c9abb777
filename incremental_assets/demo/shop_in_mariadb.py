"""The shop in MariaDB."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

from incremental_assets.demo import plain_sql
from incremental_assets.demo.day import DayReport, TableDay
from incremental_assets.demo.mariadb import EmbeddedMariaDB
from incremental_assets.demo.tpch import DATABASE, READER

FUTURE = datetime(2037, 1, 1, tzinfo=UTC)
"""A TIMESTAMP ends in 2038."""
_STAMP = "timestamp(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6) ON UPDATE CURRENT_TIMESTAMP(6)"
_PAST = "NOW(6) - INTERVAL 1 DAY - INTERVAL FLOOR(RAND(5) * 5184000000000) MICROSECOND"
"""Spread over the sixty days before yesterday, the same ones every time."""


class _Connection:
    """Implements `plain_sql.Connection`."""

    def __init__(self, server: EmbeddedMariaDB) -> None:
        self._driver = server.connect(DATABASE, local_infile=True)
        # || joins texts; and a statement that looks at all rows waits for none that another transaction has locked.
        self.run("SET SESSION sql_mode = 'ANSI,STRICT_TRANS_TABLES'")
        self.run("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")

    def __enter__(self) -> _Connection:
        return self

    def __exit__(self, *_: object) -> None:
        self._driver.close()

    def run(self, statement: str, values: Sequence[Any] = ()) -> int:
        with self._driver.cursor() as cursor:
            return cursor.execute(statement.replace("?", "%s"), tuple(values) or None)

    def rows(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        with self._driver.cursor() as cursor:
            cursor.execute(query.replace("?", "%s"), tuple(values) or None)
            return list(cursor.fetchall())

    def bucket(self, key: str) -> str:
        return f"(CRC32(CONCAT({key}, ':', ?)) & 1023)"


class _Late:
    """Implements `demo.shop.Late`."""

    def __init__(self, connection: _Connection, seed: int) -> None:
        self._connection = connection
        connection.run("BEGIN")
        self._tables = plain_sql.write_late(connection, seed)

    def commit(self) -> tuple[TableDay, ...]:
        self._connection.run("COMMIT")
        return self._tables


class Shop:
    """Implements `demo.shop.Shop`."""

    database = "MariaDB"
    server: type[EmbeddedMariaDB] = EmbeddedMariaDB
    settings: Mapping[str, str] = MappingProxyType({"innodb-buffer-pool-size": "256M"})
    schema = DATABASE
    size = 2**30

    def __init__(self, folder: Path) -> None:
        self._server = self.server(folder, settings=self.settings)

    def start(self) -> str:
        """The server, its database and the reader's account, which may see the transactions of others."""
        self._server.start()
        self._server.create_login(READER)
        with self._server.connect() as connection, connection.cursor() as cursor:
            cursor.execute(f"CREATE DATABASE IF NOT EXISTS {DATABASE}")
            cursor.execute(f"GRANT PROCESS ON *.* TO {READER}@'{self._server.host}'")
            cursor.execute(f"GRANT SELECT ON {DATABASE}.* TO {READER}@'{self._server.host}'")
        return f"{self._server.host}:{self._server.port}"

    def stop(self) -> None:
        """The server."""
        self._server.stop()

    def remove(self) -> None:
        """The server and its data."""
        self._server.remove()

    def access(self) -> Mapping[str, str]:
        """Its port, which is chosen at each start, and the reader's password."""
        return {"port": str(self._server.port), "reader.password": self._server.password_of(READER)}

    def loaded_scale(self) -> Decimal | None:
        """The scale in the comment of the last table, which is written when everything is there; None without one."""
        with _Connection(self._server) as connection:
            found = connection.rows(
                "SELECT table_comment FROM information_schema.tables WHERE table_schema = ? AND table_name = 'lineitem'",
                (DATABASE,),
            )
        name, _, scale = str(found[0][0] if found else "").rpartition(" ")
        return Decimal(scale) if name == "TPC-H at scale" else None

    def prepare(self, scale: Decimal, on_table: Callable[[str, int], None]) -> bool:
        """A database that is whole, or has no scale."""
        if self.loaded_scale() == scale:
            return False
        with _Connection(self._server) as connection:
            made = plain_sql.make_tables(connection, _STAMP, self._server.folder, partial(_load, connection), scale)
            for name, rows in made:
                on_table(name, rows)
            connection.run(f"ALTER TABLE lineitem COMMENT = 'TPC-H at scale {scale}'")
        return True

    @contextmanager
    def late(self, seed: int) -> Iterator[_Late]:
        """A late transaction that has written its rows, on a connection of its own that closes with the block."""
        with _Connection(self._server) as connection:
            yield _Late(connection, seed)

    def open(self, seed: int) -> None:
        """The first changes of the day."""
        with _Connection(self._server) as connection:
            plain_sql.open_shop(connection, seed)

    def live_a_day(self, seed: int) -> DayReport:
        """The others."""
        with _Connection(self._server) as connection:
            return plain_sql.live_a_day(connection, seed, FUTURE)

    def fix(self, day: DayReport) -> None:
        """The part's size."""
        with _Connection(self._server) as connection:
            plain_sql.fix_part(connection, day)


def _load(connection: _Connection, table: str, file: Path) -> int:
    with file.open(encoding="utf-8") as content:
        columns = content.readline().strip()
    stamp = f"SET updated_at = {_PAST}" if table in plain_sql.STAMPED else ""
    rows = connection.run(
        f"LOAD DATA LOCAL INFILE ? INTO TABLE {table} CHARACTER SET utf8mb4 FIELDS TERMINATED BY ',' OPTIONALLY ENCLOSED BY '\"' "
        f"ESCAPED BY '' IGNORE 1 LINES ({columns}) {stamp}",
        (str(file),),
    )
    file.unlink()
    return rows
