"""Every scenario is a test that says what was done and what must hold; `--report FILE` writes what became of them.

Without it those marked `long` are left out, so that `make test` stays short.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pytest

from incremental_assets.adapters.lake_store import objects, patience
from incremental_assets.demo.mariadb import EmbeddedMariaDB
from incremental_assets.demo.mysql import EmbeddedMySQL
from incremental_assets.demo.object_store import KEY, EmbeddedObjectStore
from incremental_assets.demo.postgres import EmbeddedPostgres
from tests.adapters.files.place import Place, StoredPlace
from tests.adapters.lake_store.bucket import QUICKLY, Relay, relaying
from tests.adapters.lake_store.seaweed import new_bucket, serving_from
from tests.adapters.lake_store.shop_in_store import StoreStand, shop_in_store
from tests.adapters.logs.binlogged import ORDERS as BINLOG_ORDERS
from tests.adapters.logs.binlogged import BinlogShop, OpenBinlog
from tests.adapters.logs.opening import binlog_server, log_database, log_server
from tests.adapters.logs.shelved import ORDERS, LoggedShop, Open
from tests.adapters.topics.server import KafkaServer, kafka_server
from tests.conformance import planes
from tests.conformance.clock import ClockedPostgres, ClockMissing
from tests.conformance.file_stand import FileStand
from tests.conformance.mart import Marts
from tests.conformance.played import BINLOGS, ON_CLUSTER
from tests.conformance.stand import Stand
from tests.conformance.store_tables import TABLES as THREE_TABLES
from tests.conformance.topic_stand import TopicStand
from tests.conformance.worlds import ALL, World, made
from tests.e2e.cluster import DEFAULTS, Cluster, standalone
from tests.shop import MAKE_THREE, PASSWORD, Shop

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--engine`, `--plane` and `--cluster`."""
    parser.addoption(
        "--cluster",
        action="store_true",
        help="play the scenarios of a lake in a store by a cluster of two workers, and those of a cluster alone; no others",
    )
    parser.addoption("--engine", action="store_true", help="play every scenario through an engine of this run's own")
    parser.addoption(
        "--plane", choices=("tasks", "spark"), default="tasks", help="who reads, matches and writes wherever tasks may"
    )


@pytest.fixture(scope="session", autouse=True)
def engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Under `--engine` the session of this process is one of an engine's, and processes that a scenario starts find it, too."""
    if not request.config.getoption("--engine", default=False):
        yield
        return
    from incremental_assets.adapters.spark import connect_server as server

    folder = tmp_path_factory.mktemp("engine")
    server.start(folder)
    os.environ["TEST_ENGINE"] = str(folder)
    yield
    del os.environ["TEST_ENGINE"]
    server.stop(folder)


@pytest.fixture(scope="session", autouse=True)
def plane(request: pytest.FixtureRequest) -> None:
    """Under `--plane=spark` no task lands anything, here and in processes that a scenario starts."""
    if request.config.getoption("--plane", default="tasks") == "spark":
        os.environ[planes.VARIABLE] = "spark"
        planes.play_by_spark()


class OpenStand(Protocol):
    """Opens the test's stand: YAML of its tables, SQL that makes them, more keys of the source."""

    def __call__(self, tables: str, *statements: str, options: str = "") -> Stand: ...


@pytest.fixture
def stand(postgres: EmbeddedPostgres, database: str, tmp_path: Path, spark: SparkSession) -> OpenStand:
    """Tables that are not named in the configuration are not synced."""

    def open_one(tables: str, *statements: str, options: str = "") -> Stand:
        shop = Shop.open(postgres, database, tmp_path, tables, options="unlisted: ignore\n" + options)
        shop.execute(*statements)
        return Stand(shop, spark)

    return open_one


class OpenWorld(Protocol):
    """The same on the database of the case."""

    def __call__(self, tables: str, *statements: str, options: str = "") -> Stand[World]: ...


@pytest.fixture(params=ALL)
def world(request: pytest.FixtureRequest, tmp_path: Path, record_property: Callable[[str, object], None]) -> World:
    """One database of each kind in turn; `played_on` names those that a scenario is for."""
    found = made(request.param, request, tmp_path)
    record_property("server", f"{found.title} {found.version}")
    return found


@pytest.fixture
def open_world(world: World, spark: SparkSession) -> OpenWorld:
    """Tables that are not named in the configuration are not synced."""

    def open_one(tables: str, *statements: str, options: str = "") -> Stand[World]:
        world.configure(tables, options)
        world.execute(*statements)
        return Stand(world, spark)

    return open_one


@pytest.fixture(scope="session")
def logged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedPostgres]:
    """A server whose log is decoded."""
    with log_server(tmp_path_factory.mktemp("logged")) as server:
        yield server


@pytest.fixture
def open_shop(
    logged: EmbeddedPostgres, tmp_path: Path, spark: SparkSession, record_property: Callable[[str, object], None]
) -> Iterator[Open]:
    """Opens a shop whose tables are read from the log; its slot goes with it."""
    with log_database(logged) as name:

        def open_one(*tables: str, **options: Any) -> LoggedShop:
            shop = LoggedShop.open(logged, name, tmp_path, spark, *(tables or (ORDERS,)), **options)
            record_property("server", f"PostgreSQL {shop.stand.shop.rows('SHOW server_version')[0][0]}")
            return shop

        yield open_one


@pytest.fixture(scope="session")
def mariadb_log(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedMariaDB]:
    """A MariaDB that writes a binlog."""
    with binlog_server(EmbeddedMariaDB, tmp_path_factory.mktemp("mariadb-log")) as server:
        yield server


@pytest.fixture(scope="session")
def mysql_log(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedMariaDB]:
    """A MySQL that does."""
    with binlog_server(EmbeddedMySQL, tmp_path_factory.mktemp("mysql-log")) as server:
        yield server


@pytest.fixture(params=BINLOGS)
def binlog(request: pytest.FixtureRequest) -> str:
    """Of which database."""
    return str(request.param)


@pytest.fixture
def own_binlog(binlog: str, tmp_path: Path) -> Iterator[EmbeddedMariaDB]:
    """A server of the test's own."""
    with binlog_server(EmbeddedMySQL if binlog == "mysql-log" else EmbeddedMariaDB, tmp_path / "primary") as server:
        yield server


@pytest.fixture
def open_binlog(
    binlog: str,
    request: pytest.FixtureRequest,
    tmp_path: Path,
    spark: SparkSession,
    record_property: Callable[[str, object], None],
) -> OpenBinlog:
    """Opens a shop whose tables are read from the binlog."""
    shared: EmbeddedMariaDB = request.getfixturevalue(binlog.replace("-", "_"))

    def open_one(*tables: str, server: EmbeddedMariaDB = shared, **options: Any) -> BinlogShop:
        shop = BinlogShop.open(server, tmp_path, spark, *(tables or (BINLOG_ORDERS,)), **options)
        record_property("server", f"{shop.stand.shop.title} {shop.stand.shop.version}")
        return shop

    return open_one


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaServer]:
    """A broker of this run's own."""
    with kafka_server(tmp_path_factory.mktemp("kafka")) as server:
        yield server


@pytest.fixture
def topics(
    kafka: KafkaServer, tmp_path: Path, spark: SparkSession, record_property: Callable[[str, object], None]
) -> TopicStand:
    """A topic of changes of `orders`, which an upsert is read from."""
    record_property("server", f"Kafka {kafka.version}")
    return TopicStand.open(kafka, tmp_path, spark)


@pytest.fixture(params=["a folder", "a store"])
def files(request: pytest.FixtureRequest) -> FileStand:
    """A folder of files, of which `orders` is made; on this machine, and in a store of objects."""
    found: FileStand = request.getfixturevalue("folder_of_files" if request.param == "a folder" else "files_in_store")
    return found


@pytest.fixture
def folder_of_files(tmp_path: Path, spark: SparkSession) -> FileStand:
    """One on this machine, for what a store does not have."""
    return FileStand.open(Place(tmp_path, spark))


@pytest.fixture
def files_in_store(
    seaweed: EmbeddedObjectStore,
    tmp_path: Path,
    spark: SparkSession,
    record_property: Callable[[str, object], None],
) -> FileStand:
    """One in a store."""
    record_property("server", f"SeaweedFS {seaweed.version}")
    bucket = new_bucket(seaweed).removeprefix("s3://")
    return FileStand.open(StoredPlace(tmp_path, spark, bucket, seaweed.options()))


@pytest.fixture(scope="session")
def seaweed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedObjectStore]:
    """A store of objects of this run's own."""
    with serving_from(tmp_path_factory.mktemp("seaweed")) as server:
        yield server


@pytest.fixture
def relay(seaweed: EmbeddedObjectStore, monkeypatch: pytest.MonkeyPatch) -> Iterator[Relay]:
    """Between a lake and its store; pauses are short."""
    monkeypatch.setattr(objects, "_FIRST_PAUSE_SECONDS", 0.001)
    monkeypatch.setattr(objects, "_RETRY", QUICKLY)
    monkeypatch.setattr(patience, "_LOOK_SECONDS", 0.0)
    monkeypatch.setattr(patience, "_WORK_SECONDS", 0.0)
    with relaying(seaweed.address) as between:
        yield between


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Two workers, with room for the session of this process and that of one that is killed."""
    folder = tmp_path_factory.mktemp("cluster")
    (folder / "spark-defaults.conf").write_text(DEFAULTS)
    with pytest.MonkeyPatch.context() as environment, standalone(folder, cores=4) as found:
        environment.setenv("SPARK_CONF_DIR", str(folder))
        environment.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        yield found


@pytest.fixture(scope="session")
def clustered(cluster: Cluster) -> Iterator[SparkSession]:
    """The session of this process on it."""
    from incremental_assets.adapters.spark.session import SparkSettings, Work, open_session

    session = open_session(SparkSettings(master=cluster.url, work=Work.TICK))
    yield session
    session.stop()


@pytest.fixture(params=["store", "cluster"])
def stored(
    request: pytest.FixtureRequest,
    seaweed: EmbeddedObjectStore,
    relay: Relay,
    postgres: EmbeddedPostgres,
    database: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    record_property: Callable[[str, object], None],
) -> StoreStand:
    """Orders with their history, events and prices, in a database; nothing has landed in the bucket. By this machine, or by the cluster."""
    record_property("server", f"SeaweedFS {seaweed.version}")
    for name, value in (("SHOP_PASSWORD", PASSWORD), ("LAKE_KEY", KEY), ("LAKE_SECRET", seaweed.secret)):
        monkeypatch.setenv(name, value)
    by_cluster = request.param == "cluster"
    session: SparkSession = request.getfixturevalue("clustered" if by_cluster else "spark")
    master = request.getfixturevalue("cluster").url if by_cluster else ""
    shop = shop_in_store(postgres, database, tmp_path, relay.address, new_bucket(seaweed), THREE_TABLES, master=master)
    stand = StoreStand(shop, session)
    stand.execute(*MAKE_THREE)
    return stand


@pytest.fixture(scope="module")
def marts(postgres: EmbeddedPostgres, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Marts:
    """Marts at work, which the faults of a module strike one after the other."""
    return Marts(postgres, spark, lambda: tmp_path_factory.mktemp("mart"))


@pytest.fixture
def clocked(tmp_path: Path) -> Iterator[ClockedPostgres]:
    """A server whose clock the test may set. Where there can be none, the scenario says that it was not played."""
    try:
        server = ClockedPostgres(tmp_path / "clocked", settings={"fsync": "off", "shared_buffers": "32MB"})
    except ClockMissing as reason:
        pytest.skip(f"no clock that can be set: {reason}")
    server.start()
    yield server
    server.remove()


@pytest.fixture(autouse=True)
def password(monkeypatch: pytest.MonkeyPatch) -> None:
    """In this process, where the configuration's reference leads."""
    monkeypatch.setenv("SHOP_PASSWORD", PASSWORD)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Long scenarios belong to the report, and those of commands to the plane that these have."""
    if config.getoption("--plane", default="tasks") == "spark":
        for item in items:
            if item.path.stem in planes.BY_COMMANDS:
                item.add_marker(pytest.mark.skip(reason=planes.COMMANDS_ALONE))
            if why := planes.of_tasks(item.path.stem):
                item.add_marker(pytest.mark.skip(reason=why))
    by_cluster = config.getoption("--cluster", default=False)
    _leave_out(config, items, lambda item: _is_of_cluster(item) != by_cluster)
    if config.getoption("--report", default=None) is not None:
        return
    _leave_out(config, items, lambda item: bool((mark := item.get_closest_marker("scenario")) and mark.kwargs["long"]))


def _is_of_cluster(item: pytest.Item) -> bool:
    """A process has one session: it is of a cluster, or of this machine."""
    mark, params = item.get_closest_marker("scenario"), getattr(item, "callspec", None)
    of_stored = params is not None and params.params.get("stored") == "cluster"
    return of_stored or (mark is not None and mark.kwargs.get("database") == ON_CLUSTER)


def _leave_out(config: pytest.Config, items: list[pytest.Item], unfit: Callable[[pytest.Item], bool]) -> None:
    left = [item for item in items if unfit(item)]
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if item not in left]
