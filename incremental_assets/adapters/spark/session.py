"""The only place that builds a SparkSession with its own JVM, and Spark's settings on this machine; imports nothing before it is needed."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from incremental_assets.adapters.permissions import UMASK, scratch_folder, strictly
from incremental_assets.adapters.spark.cds_archive import DRIVER_OPTIONS, LAUNCHER_VARIABLE, find_archive, fingerprint
from incremental_assets.adapters.spark.jars import verified_jars
from incremental_assets.adapters.spark.java import Java, require_java
from incremental_assets.adapters.spark.jvm_errors import passed_on
from incremental_assets.core.errors import SetupError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOGGING = Path(__file__).with_name("log4j2.json")
AUTO = "auto"
_NAME = "incremental-assets"
_UTC = "-Duser.timezone=UTC"
_QUIET = f"-Dlog4j2.configurationFile={LOGGING.as_uri()}"
_LAUNCHER = "-XX:+IgnoreUnrecognizedVMOptions -XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""The options of a JVM that lives a quarter of a second."""
_LATE_C2 = (
    "-XX:Tier4InvocationThreshold=25000",
    "-XX:Tier4MinInvocationThreshold=3000",
    "-XX:Tier4CompileThreshold=75000",
    "-XX:Tier4BackEdgeThreshold=200000",
)
"""Five times the JVM's own: a start then costs an eighth less, and what a load runs for every row is there within a second all the same."""


LOAD_BYTES = 256 * 2**20

GUARDED = {
    # Its ports on loopback are open to every user of this machine. For a local master, Spark creates the secret itself and keeps it in memory.
    "spark.authenticate": "true",
    "spark.ui.enabled": "false",
}
"""How a session is protected from other users of the machine: the same for the engine and for a session in the process."""


class Work(StrEnum):
    """What a session on this machine is opened for: C1 alone starts ticks faster, and makes loads twice as slow and checks three times."""

    TICK = "tick"
    LOAD = "load"
    SERVE = "serve"
    """The work of both, for hours, and idle most of the time: as a load, and memory that is not needed is given back."""

    @classmethod
    def ahead(cls, size: int) -> Work:
        """LOAD for more than 256 MiB to read, else TICK; up to 150 MB both were measured to take as long."""
        return cls.LOAD if size > LOAD_BYTES else cls.TICK


@dataclass(frozen=True, slots=True)
class SparkSettings:
    """Where a session comes from: a cluster's `master` when there is one, else `remote`: `auto` (this machine) or `sc://…`."""

    remote: str = AUTO
    master: str | None = None
    work: Work = Work.LOAD
    memory: str | None = None
    """Heap of the driver on this machine, such as `4g`; a quarter of the memory when absent."""
    conf: tuple[tuple[str, str], ...] = ()
    """More settings, which win over ours."""


def made_from(java: Java) -> str:
    """What an engine and the runs that use it must have in common."""
    settings = sorted((_meaning() | _delta() | GUARDED).items())
    return sha256(f"{fingerprint(java)} {settings}".encode()).hexdigest()


def open_session(settings: SparkSettings | None = None) -> SparkSession:
    """A new session in this process, or where the settings say; the caller stops it. Never one of an engine."""
    chosen = settings or SparkSettings()
    theirs = dict(chosen.conf)
    is_cluster = chosen.master is not None and not chosen.master.startswith("local")
    # Otherwise Python workers would be the first `python3` of the path, not this environment's. The machines of a cluster may have theirs elsewhere.
    os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ["PYSPARK_PYTHON"] = os.environ.get("PYSPARK_PYTHON", sys.executable) if is_cluster else sys.executable
    if chosen.master is None and chosen.remote != AUTO:
        return _open(_meaning() | theirs, remote=chosen.remote)
    if is_cluster:
        os.environ.setdefault("JAVA_HOME", str(require_java().home))
        return _open(_meaning() | _delta() | _shipped() | theirs, master=chosen.master)
    here = this_machine(chosen)
    os.environ["JAVA_HOME"] = here.environment["JAVA_HOME"]
    for name, value in here.environment.items():
        os.environ.setdefault(name, value)
    return _open(dict(here.conf), master=here.master)


@dataclass(frozen=True, slots=True)
class Machine:
    """How Spark is started here: for a session of a process's own, and for the engine alike."""

    master: str
    conf: Mapping[str, str]
    environment: Mapping[str, str]


def this_machine(settings: SparkSettings) -> Machine:
    """This machine with our jars, our archive and as many cores as this process may use. Raises SetupError where Java or a jar is missing."""
    java, theirs = require_java(), dict(settings.conf)
    archive = find_archive(java)
    cores = len(os.sched_getaffinity(0))
    ours = _meaning() | _delta() | _local(settings, cores) | GUARDED
    if archive.driver_options:
        ours[DRIVER_OPTIONS] = archive.driver_options
    environment = {
        "JAVA_HOME": str(java.home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        LAUNCHER_VARIABLE: f"{_LAUNCHER} {archive.launcher_options}".strip(),
    }
    return Machine(settings.master or f"local[{cores}]", ours | theirs | _on_class_path(theirs), environment)


@contextmanager
def second_session(session: SparkSession) -> Iterator[SparkSession]:
    """Another session on the same engine, until the end of the block: its settings affect no other session."""
    theirs: Any = session
    # Over the same way to the engine. `cloneSession` would copy that way, locks included, which Python cannot.
    own = type(theirs)(connection=theirs.client._builder) if is_remote(session) else theirs.newSession()
    try:
        for name, value in _meaning().items():
            own.conf.set(name, value)
        yield own
    finally:
        # One of this process's own would stop the engine.
        if is_remote(session):
            own.stop()


def is_remote(session: SparkSession) -> bool:
    """Whether it is one of a server's."""
    return type(session).__module__.startswith("pyspark.sql.connect")


def settings_of(session: object) -> Mapping[str, str]:
    """What a session was given and has been set to; its SQL does not begin for it."""
    from incremental_assets.adapters.spark.lazy_session import LazySession

    theirs: Any = session
    settings: Mapping[str, str] = session.settings if isinstance(session, LazySession) else theirs.conf.getAll
    return settings


def _open(conf: dict[str, str], *, remote: str | None = None, master: str | None = None) -> SparkSession:
    from pyspark.errors import PySparkException

    quieten()
    try:
        with strictly():
            return _of_server(remote, conf) if remote else _of_this_process(master or "", conf)
    except PySparkException as error:
        where = remote or master
        first = next(iter(str(error).splitlines()), type(error).__name__)
        raise SetupError(
            f"No Spark session could be opened at {where} ({first}): is it running, and may this machine reach it?"
        ) from error


def _of_server(remote: str, conf: Mapping[str, str]) -> SparkSession:
    from pyspark.sql import SparkSession

    return SparkSession.builder.appName(_NAME).remote(remote).config(map=dict(conf)).getOrCreate()


def _of_this_process(master: str, conf: Mapping[str, str]) -> SparkSession:
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway

    from incremental_assets.adapters.spark.lazy_session import LazySession
    from incremental_assets.adapters.spark.numpy_arguments import numpy_arguments

    numpy_arguments()
    # Inherited from a process that has a session of a server's, it would have pyspark refuse any other kind here.
    os.environ.pop("SPARK_CONNECT_MODE_ENABLED", None)
    settings = SparkConf().setAppName(_NAME).setMaster(master).setAll(list(conf.items()))
    context: Any = SparkContext
    with context._lock, passed_on() as stderr:
        if context._gateway is None:
            context._ensure_initialized(gateway=launch_gateway(settings, {"stderr": stderr}), conf=settings)
    return cast("SparkSession", LazySession(SparkContext.getOrCreate(settings), conf))


def quieten() -> None:
    """They write every error that a caller handles to stderr, with the query and a page of Java or of Python."""
    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        # By a level: whoever configures logging later, as Dagster does, enables what is only disabled, and Python's own logger takes none of Spark's words.
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    # Py4J tells Ctrl-C and the end of its JVM to the root logger, which others use as well.
    logging.getLogger().addFilter(_is_not_of_py4j)


def _is_not_of_py4j(record: logging.LogRecord) -> bool:
    return not str(record.msg).endswith("while sending command.")


def _meaning() -> dict[str, str]:
    """What decides what a value is; the same wherever the session runs."""
    return {
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.ansi.enabled": "true",
        # A column may be called `${env:HOME}`: replaced in a statement, it would name another one, and an upsert match every row.
        "spark.sql.variable.substitute": "false",
        # A day before 1582 is the same day in every reader, or it is an error.
        "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
        "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
        "spark.sql.parquet.int96RebaseModeInWrite": "CORRECTED",
        "spark.sql.parquet.int96RebaseModeInRead": "CORRECTED",
        "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    }


def _delta() -> dict[str, str]:
    return {
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.catalogImplementation": "in-memory",
    }


def _shipped() -> dict[str, str]:
    """Settings for a cluster, whose machines have none of our jars and may be in another time zone. Raises SetupError where a jar is missing."""
    return {
        "spark.jars": ",".join(str(jar) for jar in verified_jars()),
        # In front of options that the cluster has: a stamp without a zone is read by the clock of the machine that reads it.
        "spark.driver.defaultJavaOptions": f"{_UTC} {_QUIET}",
        "spark.executor.defaultJavaOptions": _UTC,
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.warehouse.dir": _no_warehouse(),
    }


def _no_warehouse() -> str:
    """The folder of Spark's warehouse, which is never used: else it would be one in the working directory."""
    return str(scratch_folder() / "warehouse")


def _on_class_path(theirs: dict[str, str]) -> dict[str, str]:
    """The class paths for this machine: `spark.jars` would copy 15 MB at every start, and only what the JVM itself finds can be in its archive.

    Ours come first and alone decide the beginning of the path, which an archive is tied to.
    """
    ours = [str(jar) for jar in verified_jars()]
    names = ("spark.driver.extraClassPath", "spark.executor.extraClassPath")
    return {name: ":".join([*ours, *filter(None, [theirs.get(name)])]) for name in names}


def _local(settings: SparkSettings, cores: int) -> dict[str, str]:
    """Spark's defaults are made for clusters: 200 tasks for a shuffle and 50 to read a Delta log."""
    return {
        "spark.driver.memory": settings.memory or f"{_heap_megabytes()}m",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.extraJavaOptions": " ".join((*_java_options(settings.work), temporary_in(scratch_folder()))),
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": str(cores),
        "spark.databricks.delta.snapshotPartitions": "1",
        # A tick needs up to fifty generated classes, others for each shape of table; of Spark's hundred the next tick would find few.
        "spark.sql.codegen.cache.maxEntries": "1000",
        "spark.sql.warehouse.dir": _no_warehouse(),
        "spark.local.dir": str(scratch_folder()),
        "spark.python.daemon.module": "incremental_assets.adapters.spark.worker_daemon",
        # Without the folder it starts in among the places of modules: whoever may write there would run as this user.
        "spark.executorEnv.PYTHONSAFEPATH": "1",
        # Hadoop gives each file a mode of its own, whatever the umask of the process.
        "spark.hadoop.fs.permissions.umask-mode": f"{UMASK:03o}",
        "spark.sql.artifact.isolation.enabled": "false",
    }


def temporary_in(folder: Path) -> str:
    """Java's default is /tmp, which all users share. In quotes, as a path may hold spaces; of two options the later one counts."""
    return f'"-Djava.io.tmpdir={folder}"'


def _java_options(work: Work) -> tuple[str, ...]:
    # Room for what is loaded anyway: from 21 MB on the JVM would collect everything, twice or more, before it takes some.
    always = (_UTC, _QUIET, "-XX:MetaspaceSize=256m")
    # C1 alone gets 48 MB for what it compiles, which Spark fills within minutes and then compiles again and again.
    tick = ("-XX:TieredStopAtLevel=1", "-XX:ReservedCodeCacheSize=240m", "-XX:+UseSerialGC")
    load = ("-XX:+UseParallelGC", *_LATE_C2)
    # After a whole collection the heap is twice what is in it, and not what the largest load once took.
    serve = (*load, "-XX:MinHeapFreeRatio=20", "-XX:MaxHeapFreeRatio=50")
    return (*always, *{Work.TICK: tick, Work.LOAD: load, Work.SERVE: serve}[work])


def _heap_megabytes() -> int:
    """A quarter of what this machine, or the container around us, has: between 1 and 8 GB."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limit = Path("/sys/fs/cgroup/memory.max")
    if limit.is_file() and (text := limit.read_text().strip()).isdigit():
        total = min(total, int(text))
    return max(1024, min(8192, total // 4 // 2**20))
