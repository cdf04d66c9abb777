"""A Spark standalone cluster on this machine: a master and two small workers, each a JVM of its own, from the files of pyspark itself."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
import urllib.request
import venv
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import psutil
import pyspark

from incremental_assets.adapters.spark.java import require_java

HOST = "127.0.0.1"
WORKERS = 2
DEFAULTS = """
spark.cores.max                           2
spark.executor.cores                      1
spark.sql.shuffle.partitions              2
spark.databricks.delta.snapshotPartitions 1
spark.driver.extraJavaOptions             -XX:TieredStopAtLevel=1 -XX:+UseSerialGC
spark.executor.extraJavaOptions           -XX:TieredStopAtLevel=1 -XX:+UseSerialGC
"""
"""What whoever runs a cluster of two cores says of it; Spark's own are made for hundreds."""
_NEEDS_OF_PYSPARK = ("numpy", "pandas", "pyarrow", "python-dateutil", "pytz", "six", "tzdata")


@dataclass(frozen=True)
class Cluster:
    """`url` is what `spark: {master: …}` names; `page` is the master's own page."""

    url: str
    page: str
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def lose_the_worker_at(self, port: int) -> bool:
        """Kill the one of whose tasks has a connection from there, with its executor and all that these started; False where none has."""
        for worker in self.workers:
            those = [psutil.Process(worker.pid), *psutil.Process(worker.pid).children(recursive=True)]
            if any(_has(each, port) for each in those):
                for each in those:
                    each.kill()
                return True
        return False

    def told(self) -> dict[str, Any]:
        """What the master says of its workers and applications."""
        with urllib.request.urlopen(f"{self.page}/json/", timeout=10) as answer:
            found: dict[str, Any] = json.load(answer)
        return found

    def is_up(self) -> bool:
        """Whether every worker is there."""
        try:
            return self.told()["aliveworkers"] == WORKERS
        except (OSError, ValueError):
            # Its page answers a moment before it can answer in JSON.
            return False


@contextmanager
def standalone(folder: Path, cores: int = 1, before: Sequence[Sequence[str]] = ((),) * WORKERS) -> Iterator[Cluster]:
    """Started, and ended with everything that it started.

    `cores`: of each worker, with a GB for each; an application takes one of each, if it says so. `before`: with what the command of each worker begins.
    """
    port, page = _free_port(), _free_port()
    cluster = Cluster(f"spark://{HOST}:{port}", f"http://{HOST}:{page}")
    with ExitStack() as running:
        master = ["master.Master", "--port", str(port), "--webui-port", str(page)]
        running.enter_context(_daemon(folder, "master", master))
        for number, prefix in enumerate(before):
            place = folder / f"worker{number}"
            place.mkdir()
            # Whoever it is that runs it.
            place.chmod(0o777)
            small = ["--cores", str(cores), "--memory", f"{cores}g", "--webui-port", "0", "--work-dir", str(place)]
            cluster.workers.append(
                running.enter_context(_daemon(folder, place.name, ["worker.Worker", *small, cluster.url], prefix))
            )
        deadline = time.monotonic() + 60
        while not cluster.is_up():
            assert time.monotonic() < deadline, (folder / "master.log").read_text()
            time.sleep(0.1)
        yield cluster


@contextmanager
def _daemon(
    folder: Path, name: str, arguments: list[str], before: Sequence[str] = ()
) -> Iterator[subprocess.Popen[bytes]]:
    home = Path(pyspark.__file__).parent
    environment = {
        **os.environ,
        "SPARK_HOME": str(home),
        "JAVA_HOME": str(require_java().home),
        "SPARK_LOCAL_IP": HOST,
        # A value that is read or written by the clock of a machine, and not in UTC, would come out shifted.
        "TZ": "America/New_York",
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    }
    program = f"org.apache.spark.deploy.{arguments[0]}"
    with (folder / f"{name}.log").open("wb") as log:
        process = subprocess.Popen(
            [*before, str(home / "bin" / "spark-class"), program, "--host", HOST, *arguments[1:]],
            env=environment,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _has(process: psutil.Process, port: int) -> bool:
    """Whether a connection of its own begins there."""
    try:
        return any(each.laddr.port == port for each in process.net_connections("tcp") if each.laddr)
    except psutil.Error:
        return False


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind((HOST, 0))
        return int(taken.getsockname()[1])


def with_the_needs_of_pyspark(folder: Path) -> Path:
    """A Python of its own that has these and nothing else."""
    venv.create(folder, with_pip=False, symlinks=True)
    (modules,) = folder.glob("lib/python*/site-packages")
    for name in _NEEDS_OF_PYSPARK:
        needed = distribution(name)
        for place in {file.parts[0] for file in needed.files or () if ".." not in file.parts}:
            (modules / place).symlink_to(Path(str(needed.locate_file(place))))
    return folder / "bin" / "python"
