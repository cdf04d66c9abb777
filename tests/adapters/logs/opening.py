"""Servers whose logs are read, which is of a whole server each; and a database of PostgreSQL, whose slots go with it."""

from __future__ import annotations

import itertools
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from incremental_assets.demo.mariadb import EmbeddedMariaDB
from incremental_assets.demo.mysql import EmbeddedMySQL
from incremental_assets.demo.postgres import EmbeddedPostgres

SETTINGS = {
    "wal_level": "logical",
    "fsync": "off",
    "autovacuum": "off",
    "max_replication_slots": "20",
}
ROWS = {
    "log-bin": "binlog",
    "server-id": "1",
    "binlog-format": "ROW",
    "binlog-row-image": "FULL",
    "binlog-row-metadata": "FULL",
    "innodb-flush-log-at-trx-commit": "2",
}
NUMBERED = {"gtid-mode": "ON", "enforce-gtid-consistency": "ON"}
"""What MySQL needs besides."""
_CI = Path(__file__).parents[3] / ".ci"
_numbers = itertools.count(1)


@contextmanager
def log_server(folder: Path) -> Iterator[EmbeddedPostgres]:
    """One that runs until the block ends."""
    server = EmbeddedPostgres(folder, settings=SETTINGS).start()
    yield server
    server.remove()


@contextmanager
def binlog_server(kind: type[EmbeddedMariaDB], folder: Path, **more: str) -> Iterator[EmbeddedMariaDB]:
    """A MariaDB or MySQL that writes a binlog by rows until the block ends; skips where there is none here. `more`: settings."""
    script = "mysql.sh" if kind is EmbeddedMySQL else "mariadb.sh"
    found = subprocess.run([_CI / script], capture_output=True, text=True, check=False)
    if found.returncode != 0:
        pytest.skip(f"{script}: {found.stderr.strip().splitlines()[-1]}")
    numbered = NUMBERED if kind is EmbeddedMySQL else {}
    server = kind(folder, settings={**ROWS, **numbered, **more})
    try:
        server.start()
    except PermissionError as error:
        # Root's clone is below a folder that the server's account may not enter.
        server.remove()
        pytest.skip(f"no {server.title}: {error}")
    yield server
    server.remove()


@contextmanager
def log_database(server: EmbeddedPostgres, encoding: str = "UTF8") -> Iterator[str]:
    """The name of a new one, which keeps its texts in this encoding."""
    name = f"log_{next(_numbers)}"
    with psycopg.connect(server.dsn(), autocommit=True) as admin:
        by = f"ENCODING {encoding} LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0"
        admin.execute(sql.SQL(f"CREATE DATABASE {{}} {by}").format(sql.Identifier(name)))  # type: ignore[arg-type]
    yield name
    with psycopg.connect(server.dsn(), autocommit=True) as admin:
        admin.execute(
            "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE database = %s", [name]
        )
        admin.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))
