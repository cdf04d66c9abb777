"""A PostgreSQL of its own whose log is decoded: `wal_level` is of the whole server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from incremental_assets.demo.mariadb import EmbeddedMariaDB
from incremental_assets.demo.mysql import EmbeddedMySQL
from incremental_assets.demo.postgres import EmbeddedPostgres
from tests.adapters.lake_store.conftest import object_server, relay
from tests.adapters.logs.binlogged import ORDERS as BINLOG_ORDERS
from tests.adapters.logs.binlogged import BinlogShop, OpenBinlog, world_of
from tests.adapters.logs.kept_reader import KeptReader
from tests.adapters.logs.log_reader import Reader
from tests.adapters.logs.opening import binlog_server, log_database, log_server
from tests.adapters.logs.shelved import ORDERS, LoggedShop, Open
from tests.adapters.logs.stand import LogStand
from tests.conformance.worlds import MariaWorld
from tests.shop import PASSWORD

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


__all__ = ["object_server", "relay"]


@pytest.fixture(scope="session")
def logged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedPostgres]:
    with log_server(tmp_path_factory.mktemp("logged")) as server:
        yield server


@pytest.fixture(scope="session")
def logged_mariadb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedMariaDB]:
    """A MariaDB that writes a binlog by rows."""
    with binlog_server(EmbeddedMariaDB, tmp_path_factory.mktemp("binlogged")) as server:
        yield server


@pytest.fixture(scope="session")
def logged_mysql(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedMariaDB]:
    """A MySQL that does."""
    with binlog_server(EmbeddedMySQL, tmp_path_factory.mktemp("binlogged-mysql")) as server:
        yield server


@pytest.fixture(params=["mariadb", pytest.param("mysql", marks=pytest.mark.acceptance)])
def binlogged(request: pytest.FixtureRequest) -> EmbeddedMariaDB:
    """Each of the two."""
    server: EmbeddedMariaDB = request.getfixturevalue(f"logged_{request.param}")
    return server


@pytest.fixture
def open_binlog(
    binlogged: EmbeddedMariaDB, tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> OpenBinlog:
    """Opens the shop of one test."""
    monkeypatch.setenv("SHOP_PASSWORD", PASSWORD)

    def open_one(*tables: str, **options: Any) -> BinlogShop:
        return BinlogShop.open(binlogged, tmp_path, spark, *(tables or (BINLOG_ORDERS,)), **options)

    return open_one


@pytest.fixture
def world(binlogged: EmbeddedMariaDB, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MariaWorld:
    """A database whose table `orders` is read from the binlog, without Spark."""
    monkeypatch.setenv("SHOP_PASSWORD", PASSWORD)
    found = world_of(binlogged, tmp_path)
    found.configure("- {table: {s}.orders, capture: log}")
    found.execute(f"CREATE TABLE {BINLOG_ORDERS}")
    return found


@pytest.fixture
def stand(logged: EmbeddedPostgres) -> Iterator[LogStand]:
    """A database of its own with an empty publication of the name `p` and a slot; both go with the test."""
    with log_database(logged) as name:
        found = LogStand(logged, name, f"slot_{name}")
        found.execute("CREATE PUBLICATION p WITH (publish_via_partition_root)")
        found.make_slot()
        yield found
        found.close()


@pytest.fixture
def reader(stand: LogStand, tmp_path: Path) -> Reader:
    """Reads it into the folder of the test."""
    return Reader(stand, tmp_path)


@pytest.fixture
def kept(stand: LogStand, tmp_path: Path) -> Iterator[KeptReader]:
    """The same, with a session that is kept; it goes with the test."""
    found = KeptReader(stand, tmp_path)
    yield found
    with stand.asked() as asked:
        found.resident.end(asked)


@pytest.fixture
def blocker(stand: LogStand) -> psycopg.Connection[Any]:
    """A transaction that has written a table that nobody follows, and stays open."""
    stand.execute("CREATE TABLE elsewhere (id int)")
    session = stand.connect(autocommit=False)
    session.execute("INSERT INTO elsewhere VALUES (1)")
    return session


@pytest.fixture
def open_shop(
    logged: EmbeddedPostgres, tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Open]:
    """Opens the shop of one test; its slot goes with it."""
    monkeypatch.setenv("SHOP_PASSWORD", PASSWORD)
    with log_database(logged) as name:

        def open_one(*tables: str, **options: Any) -> LoggedShop:
            return LoggedShop.open(logged, name, tmp_path, spark, *(tables or (ORDERS,)), **options)

        yield open_one
