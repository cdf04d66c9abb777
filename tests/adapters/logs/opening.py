"""A PostgreSQL whose log is decoded, as `wal_level` is of a whole server; and a database of it, whose slots go with it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from psycopg import sql

from incremental_assets.demo.postgres import EmbeddedPostgres

SETTINGS = {
    "wal_level": "logical",
    "fsync": "off",
    "autovacuum": "off",
    "max_replication_slots": "20",
}
_numbers = itertools.count(1)


@contextmanager
def log_server(folder: Path) -> Iterator[EmbeddedPostgres]:
    """One that runs until the block ends."""
    server = EmbeddedPostgres(folder, settings=SETTINGS).start()
    yield server
    server.remove()


@contextmanager
def log_database(server: EmbeddedPostgres) -> Iterator[str]:
    """The name of a new one."""
    name = f"log_{next(_numbers)}"
    with psycopg.connect(server.dsn(), autocommit=True) as admin:
        admin.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    yield name
    with psycopg.connect(server.dsn(), autocommit=True) as admin:
        admin.execute(
            "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE database = %s", [name]
        )
        admin.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))
