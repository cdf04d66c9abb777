"""The only place that builds a SparkSession: nothing of Spark is imported, and no JVM started, before one is asked for."""

from __future__ import annotations

import logging
import os
import sys
import tempfile
import threading
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from incremental_assets.core.errors import SetupError
from incremental_assets.engine.archive import DRIVER_OPTIONS, LAUNCHER_VARIABLE, find_archive
from incremental_assets.engine.jars import verified_jars
from incremental_assets.engine.java import require_java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOGGING = Path(__file__).with_name("log4j2.json")
AUTO = "auto"
_LAUNCHER = "-XX:+IgnoreUnrecognizedVMOptions -XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""For a JVM that lives a quarter of a second."""
_LATE_C2 = (
    "-XX:Tier4InvocationThreshold=25000",
    "-XX:Tier4MinInvocationThreshold=3000",
    "-XX:Tier4CompileThreshold=75000",
    "-XX:Tier4BackEdgeThreshold=200000",
)
"""Five times the JVM's own: a start then costs an eighth less, and what a load runs for every row is there within a second all the same."""


LOAD_BYTES = 256 * 2**20


class Work(StrEnum):
    """What a session on this machine is opened for: C1 alone starts ticks sooner and makes loads twice as slow."""

    TICK = "tick"
    LOAD = "load"

    @classmethod
    def ahead(cls, size: int) -> Work:
        """By the bytes that are to be loaded: up to 150 MB both were seen to take as long."""
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


class Session:
    """Opens Spark at the first call, once, and hands out the same session to every thread after that."""

    def __init__(self, settings: SparkSettings | None = None) -> None:
        self._settings = settings or SparkSettings()
        self._lock = threading.Lock()
        self._session: SparkSession | None = None

    def __call__(self, work: Work | None = None) -> SparkSession:
        """The session; `work` counts for the call that opens it. Raises SetupError where Java or a jar is missing."""
        with self._lock:
            if self._session is None:
                self._session = open_session(replace(self._settings, work=work or self._settings.work))
            return self._session

    @property
    def is_open(self) -> bool:
        """Whether anything needed Spark so far."""
        return self._session is not None

    def close(self) -> None:
        """Stop what was opened, if anything was."""
        with self._lock:
            if self._session is not None:
                self._session.stop()
            self._session = None


def open_session(settings: SparkSettings | None = None) -> SparkSession:
    """A new session; the caller stops it."""
    chosen = settings or SparkSettings()
    # Otherwise Python workers would be the first `python3` of the path, not this environment's.
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    theirs = dict(chosen.conf)
    if chosen.master is None and chosen.remote != AUTO:
        return _open(_meaning() | theirs, remote=chosen.remote)
    if chosen.master is not None and not chosen.master.startswith("local"):
        return _open(_meaning() | _delta() | _shipped() | theirs, master=chosen.master)
    java = require_java()
    archive = find_archive(java)
    os.environ["JAVA_HOME"] = str(java.home)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ.setdefault(LAUNCHER_VARIABLE, f"{_LAUNCHER} {archive.launcher_options}".strip())
    cores = len(os.sched_getaffinity(0))
    ours = _meaning() | _delta() | _local(chosen, cores)
    if archive.driver_options:
        ours[DRIVER_OPTIONS] = archive.driver_options
    return _open(ours | theirs | _on_class_path(theirs), master=chosen.master or f"local[{cores}]")


def _open(conf: dict[str, str], *, remote: str | None = None, master: str | None = None) -> SparkSession:
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName("incremental-assets")
    builder = builder.remote(remote) if remote else builder.master(master or "")
    for name, value in conf.items():
        builder = builder.config(name, value)
    # It writes every error that a caller handles to stderr, with the query and a page of Java.
    logging.getLogger("SQLQueryContextLogger").disabled = True
    logging.getLogger("DataFrameQueryContextLogger").disabled = True
    try:
        return builder.getOrCreate()
    except PySparkException as error:
        where = remote or master
        first = next(iter(str(error).splitlines()), type(error).__name__)
        raise SetupError(
            f"No Spark session could be opened at {where} ({first}): is it running, and may this machine reach it?"
        ) from error


def _meaning() -> dict[str, str]:
    """What decides what a value is; the same wherever the session runs."""
    return {
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.ansi.enabled": "true",
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
    """For a cluster, whose machines have no jars of ours."""
    return {"spark.jars": ",".join(str(jar) for jar in verified_jars())}


def _on_class_path(theirs: dict[str, str]) -> dict[str, str]:
    """On this machine: `spark.jars` would copy 15 MB at every start, and only what the JVM itself finds can be in its archive.

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
        "spark.driver.extraJavaOptions": " ".join(_java_options(settings.work)),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": str(cores),
        "spark.databricks.delta.snapshotPartitions": "1",
        # Never used, and not to appear in the folder of whoever runs this.
        "spark.sql.warehouse.dir": str(Path(tempfile.gettempdir()) / "incremental-assets-warehouse"),
        "spark.sql.artifact.isolation.enabled": "false",
    }


def _java_options(work: Work) -> tuple[str, ...]:
    # Room for what is loaded anyway: from 21 MB on the JVM would collect everything, twice or more, before it takes some.
    always = ("-Duser.timezone=UTC", f"-Dlog4j2.configurationFile={LOGGING.as_uri()}", "-XX:MetaspaceSize=256m")
    # C1 alone gets 48 MB for what it compiles, which Spark fills within minutes and then compiles again and again.
    tick = ("-XX:TieredStopAtLevel=1", "-XX:ReservedCodeCacheSize=240m", "-XX:+UseSerialGC")
    return (*always, *(tick if work is Work.TICK else ("-XX:+UseParallelGC", *_LATE_C2)))


def _heap_megabytes() -> int:
    """A quarter of what this machine, or the container around us, has: between 1 and 8 GB."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limit = Path("/sys/fs/cgroup/memory.max")
    if limit.is_file() and (text := limit.read_text().strip()).isdigit():
        total = min(total, int(text))
    return max(1024, min(8192, total // 4 // 2**20))
