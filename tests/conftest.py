"""Fixtures that open something real, once for the whole run: PostgreSQL and Spark."""

from __future__ import annotations

import gc
import itertools
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest
from psycopg import sql

from incremental_assets.core.concurrency import combining
from incremental_assets.demo.mariadb import EmbeddedMariaDB
from incremental_assets.demo.mysql import EmbeddedMySQL
from incremental_assets.demo.postgres import EmbeddedPostgres
from tests import profiles
from tests.pgbouncer import OpenPooler, started

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_numbers = itertools.count(1)
_CI = Path(__file__).parents[1] / ".ci"
_E2E = Path(__file__).parent / "e2e"

# Before any test is collected: one that is decorated earlier has hypothesis's own terms, by which 200 ms are too long.
profiles.load()

# What tests share is told with both sides when it fails, as in the tests themselves.
pytest.register_assert_rewrite("tests.core.stories", "tests.core.plans", "tests.core.mistakes")


def pytest_configure() -> None:
    """A shell starts what stands before `&` deaf to Ctrl-C, and so would be every command that a test interrupts."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[object]:
    """What is imported and collected stays: the garbage collector looks for none meanwhile, nor among it later."""
    gc.disable()
    found = yield
    gc.freeze()
    gc.enable()
    return found


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What a test opens marks it, so that `-m` knows it; and whole commands go first: one long story begun last would be told alone at the end."""
    for item in items:
        for name in _marks(item):
            item.add_marker(name)
    items.sort(key=lambda item: item.get_closest_marker("e2e") is None)
    if os.environ.get("TESTS") != "all":
        for item in items:
            if item.get_closest_marker("long") is not None:
                item.add_marker(pytest.mark.skip(reason="takes minutes: TESTS=all"))


def _marks(item: pytest.Item) -> Iterator[str]:
    opened = set(getattr(item, "fixturenames", ()))
    yield from (name for name in ("spark", "postgres", "mariadb", "mysql") if name in opened)
    if "clocked" in opened:
        yield "postgres"  # a server of its own
    if _E2E in item.path.parents:
        yield "e2e"
    if item.get_closest_marker("scenario") is not None:
        yield "acceptance"


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedPostgres]:
    """A PostgreSQL of this run's own, in which nobody writes but tests. Without fsync, since no test pulls the plug of the machine."""
    server = EmbeddedPostgres(
        tmp_path_factory.mktemp("postgres"),
        settings={"fsync": "off", "max_connections": "60", "autovacuum": "off"},
    )
    server.start()
    yield server
    server.remove()


@pytest.fixture(scope="session")
def mariadb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedMariaDB]:
    """A MariaDB of this run's own, where this machine has one or lets us install it."""
    installed = subprocess.run([_CI / "mariadb.sh"], capture_output=True, text=True, check=False)
    if installed.returncode != 0:
        pytest.skip(f"no MariaDB: {installed.stderr.strip().splitlines()[-1]}")
    server = EmbeddedMariaDB(
        tmp_path_factory.mktemp("mariadb"), settings={"innodb-flush-log-at-trx-commit": "2", "max-connections": "60"}
    )
    server.start()
    yield server
    server.remove()


@pytest.fixture(scope="session")
def mysql(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedMySQL]:
    """A MySQL of this run's own, where its programs can be had."""
    installed = subprocess.run([_CI / "mysql.sh"], capture_output=True, text=True, check=False)
    if installed.returncode != 0:
        pytest.skip(f"no MySQL: {installed.stderr.strip().splitlines()[-1]}")
    server = EmbeddedMySQL(
        tmp_path_factory.mktemp("mysql"), settings={"innodb-flush-log-at-trx-commit": "2", "max-connections": "60"}
    )
    try:
        server.start()
    except PermissionError as error:
        # Root's clone is below a folder that the server's account may not enter.
        server.remove()
        pytest.skip(f"no MySQL: {error}")
    yield server
    server.remove()


@pytest.fixture(scope="session")
def pgbouncer(postgres: EmbeddedPostgres) -> OpenPooler:
    """Starts a PgBouncer in front of the tests' PostgreSQL, where this machine has one or lets us install it."""
    installed = subprocess.run([_CI / "pgbouncer.sh"], capture_output=True, text=True, check=False)
    if installed.returncode != 0:
        pytest.skip(f"no PgBouncer: {installed.stderr.strip().splitlines()[-1]}")
    return partial(started, postgres)


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is done together waits for all who are on their way, however slow this machine is: who waits in vain waits too long for any test."""
    for name in ("_FIRST_TAKES", "_LEAST", "_MOST"):
        monkeypatch.setattr(combining, name, 60.0)


@pytest.fixture
def database(postgres: EmbeddedPostgres) -> Iterator[str]:
    """The name of a database that no other test has seen; it goes with its test, as hundreds of them fill a disk."""
    name = f"test_{next(_numbers)}"
    with psycopg.connect(postgres.dsn(), autocommit=True) as admin:
        # Its files copied, and not written to the log page by page: half the time.
        admin.execute(sql.SQL("CREATE DATABASE {} STRATEGY file_copy").format(sql.Identifier(name)))
    yield name
    with psycopg.connect(postgres.dsn(), autocommit=True) as admin:
        admin.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


@pytest.fixture
def connect(postgres: EmbeddedPostgres, database: str) -> Iterator[Callable[[], psycopg.Connection]]:
    """Opens superuser connections to that database; all are closed at the end."""
    opened: list[psycopg.Connection] = []

    def open_one() -> psycopg.Connection:
        opened.append(psycopg.connect(postgres.dsn(database)))
        return opened[-1]

    yield open_one
    for connection in opened:
        connection.close()


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """The one Spark session of the whole run, made as the product makes it for small ticks; or one of the engine in TEST_ENGINE."""
    if engines := os.environ.get("TEST_ENGINE"):
        from incremental_assets.adapters.spark.session_provider import Session

        door = Session(engines=Path(engines))
        yield door()
        door.close()
        return
    from incremental_assets.adapters.spark.session import SparkSettings, Work, open_session

    session = open_session(SparkSettings(work=Work.TICK))
    yield session
    session.stop()
