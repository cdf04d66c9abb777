"""The servers whose logs the soak reads, each with the words by which its tables are written to and altered."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from incremental_assets.demo.mariadb import EmbeddedMariaDB
from incremental_assets.demo.postgres import EmbeddedPostgres
from tests.adapters.logs.binlogged import BinlogShop
from tests.adapters.logs.log_shop import LogShop
from tests.adapters.logs.opening import SETTINGS, binlog_server
from tests.adapters.logs.shelved import LoggedShop
from tests.conformance.accounts import ACCOUNTS, TRANSFERS

Open = Callable[[Path], Any]
_NO_SPARK: Any = None
"""Every sync is a process of its own, and every copy is read without Spark."""


@dataclass(frozen=True)
class Log:
    """`open` gives a shop in a folder until its block ends."""

    title: str
    open: Open
    put: str
    """A row of `held` with a value that is too long to lie in its row."""
    patience: str
    """What a session runs first that gives up a lock that it does not get."""
    harmless: tuple[str, ...]
    """Statements that leave the rows of `transfers` as they are."""
    altering: str
    """One that the log does not tell the end of, so that the table is to be loaded again."""


@contextmanager
def _postgresql(folder: Path) -> Iterator[LogShop[Any]]:
    server = EmbeddedPostgres(folder / "server", settings=SETTINGS).start()
    try:
        server.create_database("shop")
        held = "held (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, owner int, n int, note text)"
        yield LoggedShop.open(server, "shop", folder, _NO_SPARK, ACCOUNTS, TRANSFERS, held)
    finally:
        server.remove()


@contextmanager
def _mariadb(folder: Path) -> Iterator[LogShop[Any]]:
    with binlog_server(EmbeddedMariaDB, folder / "server", **{"max-binlog-size": str(4 << 20)}) as server:
        held = "held (id bigint AUTO_INCREMENT PRIMARY KEY, owner int, n int, note text)"
        yield BinlogShop.open(server, folder, _NO_SPARK, ACCOUNTS, TRANSFERS, held)


LOGS: Mapping[str, Log] = {
    "log": Log(
        "PostgreSQL's log",
        _postgresql,
        "INSERT INTO held (owner, n, note) SELECT %s, 0, string_agg(md5(random()::text), '') FROM generate_series(1, 200)",
        "SET lock_timeout = '2s'",
        ("CREATE INDEX IF NOT EXISTS i ON transfers (what)", "ANALYZE transfers", "DROP INDEX IF EXISTS i"),
        "ALTER TABLE transfers ALTER COLUMN what TYPE text USING what || ''",
    ),
    "binlog": Log(
        "MariaDB's binlog",
        _mariadb,
        "INSERT INTO held (owner, n, note) VALUES (%s, 0, repeat(md5(rand()), 200))",
        "SET SESSION lock_wait_timeout = 2",
        (
            "CREATE INDEX IF NOT EXISTS i ON transfers (what(9))",
            "ANALYZE TABLE transfers",
            "DROP INDEX IF EXISTS i ON transfers",
            "FLUSH BINARY LOGS",
        ),
        "ALTER TABLE transfers ENGINE = InnoDB",
    ),
}
