"""T60: `parallel: {connections}` is a limit: counted by the server, in one process and in several, and a server or a role that has fewer is read with fewer."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from incremental_assets.adapters import budget
from incremental_assets.adapters.databases.postgresql.read_timeout import Patient
from incremental_assets.demo.postgres import EmbeddedPostgres
from tests.conformance.conftest import OpenWorld
from tests.conformance.scenario import played_on, scenario
from tests.conformance.stand import Stand
from tests.conformance.worlds import MariaWorld, PostgresWorld, World
from tests.shop import PASSWORD, Shop

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOOKS = """
from incremental_assets import load
from incremental_assets.resources.runtime import Runtime
import sys
print("begun", flush=True)
for _ in range(int(sys.argv[2])):
    runtime = Runtime(load(sys.argv[1]), writes=False)
    runtime.probe("shop").catalogue()
    runtime.close()
"""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """One in which nobody else counts, and nothing is remembered of a source that had no connection left."""
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path / "home"))
    yield
    budget._fewer.clear()


@contextmanager
def counted(world: World) -> Iterator[list[int]]:
    """The most sessions of the reader's at once, as the server itself counts them, in the list's only place.

    MariaDB lists a session as busy or killed whose line it has closed and whose place in the user's limit is free, until it has forgotten it. One that
    works is listed as busy for a moment now and then, which hides no more than one look of thousands.
    """
    query = (
        "SELECT count(*) FROM pg_stat_activity WHERE usename = 'reader' AND datname = current_database()"
        if isinstance(world, PostgresWorld)
        else "SELECT COUNT(*) FROM information_schema.processlist WHERE user = 'reader' AND command NOT IN ('Quit', 'Busy', 'Killed')"
    )
    most, done = [0], threading.Event()

    def look(connection: Any) -> None:
        with closing(connection):
            cursor = connection.cursor()
            while not done.is_set():
                cursor.execute(query)
                most[0] = max(most[0], int(cursor.fetchall()[0][0]))

    looking = threading.Thread(target=look, args=(world.open(),))
    looking.start()
    try:
        yield most
    finally:
        done.set()
        looking.join()


def _small(world: World, tables: int) -> tuple[str, list[str]]:
    made = []
    for number in range(tables):
        made += [
            f"CREATE TABLE t{number:02d} (id int NOT NULL PRIMARY KEY, note varchar(40), updated_at {world.words.stamp})",
            f"INSERT INTO t{number:02d} (id, note) VALUES (1, 'a'), (2, 'b')",
        ]
    return "\n".join(f'- "{{s}}.t{number:02d}:updated_at:{{c}}!upsert"' for number in range(tables)), made


def _every_slot(server: EmbeddedPostgres) -> list[psycopg.Connection]:
    held = []
    while True:
        try:
            held.append(psycopg.connect(host="127.0.0.1", port=server.port, dbname="shop", user="app", password="app"))
        except psycopg.OperationalError:
            return held


def _assert_all(desk: Stand[Any], tables: int) -> None:
    for number in range(0, tables, 7):
        assert [row[:2] for row in desk.copy(f"t{number:02d}")][:2] == [(1, "a"), (2, "b")]


@scenario(
    "T60",
    "Ninety small tables are synced for the first time, then again after a change, with `connections` of 1, 2 and 4",
    holds="the server never counts more sessions of ours than that, and every table lands",
    long=True,
)
@played_on("postgresql", "mariadb", "mysql")
@pytest.mark.parametrize("connections", [1, 2, 4])
def test_a_source_never_has_more_sessions_than_it_allows(world: World, open_world: OpenWorld, connections: int) -> None:
    tables, made = _small(world, 90)
    desk = open_world(tables, *made, options=f"parallel: {{connections: {connections}}}")
    with counted(world) as most:
        desk.land()
        desk.execute(*(f"INSERT INTO t{number:02d} (id, note) VALUES (3, 'c')" for number in range(0, 90, 9)))
        desk.land()
        assert desk.check("t07") == 0
    assert 1 <= most[0] <= connections
    _assert_all(desk, 9)
    assert [row[0] for row in desk.copy("t09")] == [1, 2, 3]


@scenario(
    "T60",
    "The role of the sync has a connection limit of 1, 2 and 6, the configuration allows 4",
    holds="every table lands: with as many sessions as there are, by one where there is no more than one",
    long=True,
)
@played_on("postgresql", "mariadb")
@pytest.mark.parametrize("limit", [1, 2, 6])
def test_a_role_with_few_connections_is_read_with_fewer(
    world: World, open_world: OpenWorld, limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(budget, "PATIENCE", 3.0)
    tables, made = _small(world, 10)
    desk = open_world(tables, *made, options="parallel: {connections: 4}")
    maria = isinstance(world, MariaWorld)
    set_limit = (
        "ALTER USER reader@'127.0.0.1' WITH MAX_USER_CONNECTIONS {}"
        if maria
        else "ALTER ROLE reader CONNECTION LIMIT {}"
    )
    world.execute(set_limit.format(limit))
    try:
        with counted(world) as most:
            desk.land()
        # MariaDB lists logins that it refuses as sessions asleep, four at a limit of one; it lets in no more by itself.
        assert maria or 1 <= most[0] <= limit
    finally:
        world.execute(set_limit.format(0 if maria else -1))
    _assert_all(desk, 10)


@scenario(
    "T60",
    "A server has seven slots for everybody: four are the sync's, an application opens and closes three all the time, while ninety tables are synced for the first time",
    holds="the application is never refused, and every table lands",
    long=True,
)
def test_an_application_keeps_its_slots(tmp_path: Path, spark: SparkSession) -> None:
    server = EmbeddedPostgres(
        tmp_path / "small", settings={"max_connections": "10", "superuser_reserved_connections": "3", "fsync": "off"}
    )
    server.start()
    try:
        server.create_database("shop")
        world = PostgresWorld(server, "shop", tmp_path)
        tables, made = _small(world, 90)
        shop = Shop.open(
            server,
            "shop",
            tmp_path,
            tables.replace("{s}", "public").replace("{c}", "timestamp"),
            options="unlisted: ignore",
        )
        shop.execute("CREATE ROLE app LOGIN PASSWORD 'app'", *made)
        refused: list[str] = []
        served, done = [0], threading.Event()

        def work() -> None:
            while not done.is_set():
                try:
                    # One that sees its session end: workers of any other kind hold up to two slots each.
                    with Patient.connect(
                        host="127.0.0.1", port=server.port, dbname="shop", user="app", password="app"
                    ) as connection:
                        connection.execute("SELECT 1")
                        served[0] += 1
                except psycopg.OperationalError as error:
                    refused.append(str(error))

        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        try:
            desk: Stand[Any] = Stand(shop, spark)
            desk.land()
        finally:
            done.set()
            for thread in threads:
                thread.join()
        assert refused == []
        assert served[0] > 0
        _assert_all(desk, 90)
    finally:
        server.remove()


@scenario(
    "T60",
    "An application holds every slot of a small server; later it gives one back",
    holds="the sync waits, says in its own sentence that the server has no connection left, and lands with the one that there is",
    long=True,
)
def test_a_full_server_is_told_in_its_own_sentence(
    tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(budget, "PATIENCE", 1.0)
    server = EmbeddedPostgres(
        tmp_path / "small", settings={"max_connections": "10", "superuser_reserved_connections": "3", "fsync": "off"}
    )
    server.start()
    try:
        server.create_database("shop")
        world = PostgresWorld(server, "shop", tmp_path)
        tables, made = _small(world, 3)
        shop = Shop.open(
            server,
            "shop",
            tmp_path,
            tables.replace("{s}", "public").replace("{c}", "timestamp"),
            options="unlisted: ignore",
        )
        shop.execute("CREATE ROLE app LOGIN PASSWORD 'app'", *made)
        desk: Stand[Any] = Stand(shop, spark)
        specs = [desk.spec(f"t{number:02d}") for number in range(3)]
        held = _every_slot(server)
        with desk.runtime() as runtime, pytest.raises(Exception, match="no connection left for us") as met:
            runtime.probe("shop").measure(specs[0], ())
        assert "check `host`" not in str(met.value)
        held.pop().close()
        desk.land()
        _assert_all(desk, 3)
        for each in held:
            each.close()
    finally:
        server.remove()


@scenario(
    "T60",
    "Two processes of one home ask the same source at once, with `connections: 2`; then one that holds a session is killed",
    holds="the server never counts more than two sessions, and what the killed one held comes back",
    long=True,
)
@played_on("postgresql", "mariadb")
def test_processes_that_share_a_home_share_the_budget(world: World, open_world: OpenWorld) -> None:
    tables, made = _small(world, 30)
    desk = open_world(tables, *made, options="parallel: {connections: 2}")
    command = [sys.executable, "-c", _LOOKS, str(world.config)]
    with counted(world) as most:
        others = [
            subprocess.Popen([*command, "100000"], env=os.environ | {"SHOP_PASSWORD": PASSWORD}, stdout=subprocess.PIPE)
            for _ in range(3)
        ]
        try:
            for other in others:
                assert other.stdout is not None
                assert other.stdout.readline() == b"begun\n"
            desk.land()
        finally:
            for other in others:
                other.kill()
                other.communicate()
        desk.execute("INSERT INTO t00 (id, note) VALUES (3, 'c')")
        desk.land()
    assert 1 <= most[0] <= 2
    assert [row[0] for row in desk.copy("t00")] == [1, 2, 3]
