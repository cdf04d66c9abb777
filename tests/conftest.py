"""Fixtures that open something real, once for the whole run: PostgreSQL and Spark."""

from __future__ import annotations

import itertools
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest

from incremental_assets.demo.postgres import EmbeddedPostgres

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_numbers = itertools.count(1)


def pytest_configure() -> None:
    """A shell starts what stands before `&` deaf to Ctrl-C, and so would be every command that a test interrupts."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whole commands first: with two workers, one long story begun last would be told alone at the end."""
    items.sort(key=lambda item: item.get_closest_marker("e2e") is None)
    if os.environ.get("TESTS") != "all":
        for item in items:
            if item.get_closest_marker("long") is not None:
                item.add_marker(pytest.mark.skip(reason="takes minutes: TESTS=all"))


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedPostgres]:
    """A PostgreSQL of this run's own. Without fsync, since no test pulls the plug of the machine."""
    server = EmbeddedPostgres(tmp_path_factory.mktemp("postgres"), settings={"fsync": "off", "max_connections": "60"})
    server.start()
    yield server
    server.remove()


@pytest.fixture
def database(postgres: EmbeddedPostgres) -> str:
    """The name of a database that no other test has seen."""
    name = f"test_{next(_numbers)}"
    postgres.create_database(name)
    return name


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
