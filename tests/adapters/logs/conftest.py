"""A PostgreSQL of its own whose log is decoded: `wal_level` is of the whole server."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest
from psycopg import sql

from incremental_assets.demo.postgres import EmbeddedPostgres
from tests.adapters.logs.shelved import ORDERS, LoggedShop, Open
from tests.adapters.logs.stand import LogStand
from tests.shop import PASSWORD

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def logged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedPostgres]:
    settings = {"wal_level": "logical", "fsync": "off", "autovacuum": "off", "max_replication_slots": "20"}
    server = EmbeddedPostgres(tmp_path_factory.mktemp("logged"), settings=settings).start()
    yield server
    server.remove()


@pytest.fixture
def stand(logged: EmbeddedPostgres) -> Iterator[LogStand]:
    """A database of its own with an empty publication of the name `p` and a slot; both go with the test."""
    number = next(_numbers)
    name = f"log_{number}"
    with psycopg.connect(logged.dsn(), autocommit=True) as admin:
        admin.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    found = LogStand(logged, name, f"slot_{number}")
    found.execute("CREATE PUBLICATION p WITH (publish_via_partition_root)")
    found.make_slot()
    yield found
    found.close()
    with psycopg.connect(logged.dsn(), autocommit=True) as admin:
        admin.execute(
            "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE database = %s", [name]
        )
        admin.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


@pytest.fixture
def open_shop(
    logged: EmbeddedPostgres, tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Open]:
    """Opens the shop of one test; its slot goes with it."""
    monkeypatch.setenv("SHOP_PASSWORD", PASSWORD)
    name = f"capture_{next(_numbers)}"
    with psycopg.connect(logged.dsn(), autocommit=True) as admin:
        admin.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    yield lambda *tables, **options: LoggedShop.open(logged, name, tmp_path, spark, *(tables or (ORDERS,)), **options)
    with psycopg.connect(logged.dsn(), autocommit=True) as admin:
        admin.execute(
            "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE database = %s", [name]
        )
        admin.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))
