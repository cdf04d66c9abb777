"""The daemon of Spark's Python workers on this machine."""

from __future__ import annotations

import os
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest

from incremental_assets.adapters.databases.postgresql.rows.copy_part import CopyPart
from incremental_assets.adapters.spark.worker_daemon import MODULES, take_the_installed_pyspark
from tests.waiting import until

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PROGRAM = """
import os, signal, sys
from pyspark.daemon import manager
from incremental_assets.adapters.spark.worker_daemon import end_when_idle
end_when_idle(float(sys.argv[1]))
look = signal.getsignal(signal.SIGALRM)
signal.signal(signal.SIGALRM, lambda *of: (look(*of), os.write(1, b".")))
manager()
"""
"""A daemon that says its port, and a dot after each look."""


@contextmanager
def daemon(looks_every: float) -> Iterator[subprocess.Popen[bytes]]:
    pipe, command = subprocess.PIPE, [sys.executable, "-c", PROGRAM, str(looks_every)]
    environment = os.environ | {"PYTHON_WORKER_FACTORY_SECRET": "secret"}
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, env=environment) as process:
        yield process
        process.kill()


def test_one_that_has_no_worker_ends() -> None:
    with daemon(looks_every=0.2) as process:
        assert process.wait(60) == 1


def test_one_that_has_a_worker_ends_no_sooner_than_that() -> None:
    # It looks when the test says so: by a clock, a worker of a busy machine would come too late.
    with daemon(looks_every=3600) as process:
        assert process.stdout is not None
        (port,) = struct.unpack("!i", process.stdout.read(4))

        def look() -> bytes:
            assert process.stdout is not None
            process.send_signal(signal.SIGALRM)
            return process.stdout.read(1)

        with socket.create_connection(("127.0.0.1", port)) as connection:
            # The number of the worker's process, which waits for its secret.
            assert struct.unpack("!i", connection.recv(4))[0] > 0
            assert [look() for _ in range(3)] == [b"."] * 3
        until(lambda: psutil.Process(process.pid).children() == [])
        assert look() == b"."
        look()
        assert process.wait(60) == 1


def test_what_reads_a_part_of_a_table_by_copy_is_among_the_modules_that_workers_share() -> None:
    assert [name for name in MODULES if name.startswith("incremental_assets.adapters.databases")] == [
        CopyPart.__module__
    ]


def test_what_a_task_needs_is_there_before_the_first_fork_and_pandas_is_not() -> None:
    program = """
import sys
from incremental_assets.adapters.spark.worker_daemon import MODULES, preload
preload()
print(sorted(set(MODULES) - set(sys.modules)), "pandas" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[] False"


@pytest.mark.parametrize(("named", "pool"), [({}, "jemalloc"), ({"ARROW_DEFAULT_MEMORY_POOL": "system"}, "system")])
def test_a_worker_takes_the_pool_that_gives_memory_back_unless_the_environment_names_one(
    named: dict[str, str], pool: str
) -> None:
    program = """
import os
from incremental_assets.adapters.spark.worker_daemon import preload
preload()
import pyarrow
print(pyarrow.default_memory_pool().backend_name, os.environ.get("ARROW_DEFAULT_MEMORY_POOL"))
"""
    others = {name: value for name, value in os.environ.items() if name != "ARROW_DEFAULT_MEMORY_POOL"}
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=others | named
    )
    assert done.stdout.split() == [pool, str(named.get("ARROW_DEFAULT_MEMORY_POOL"))]


def test_spark_itself_is_imported_from_where_it_is_installed_and_not_from_an_archive_of_sources(
    spark: SparkSession,
) -> None:
    def found(_: Iterator[int]) -> Iterator[str]:
        import py4j
        import pyspark

        yield from (str(pyspark.__file__), str(py4j.__file__))

    places = spark.sparkContext.parallelize([0], 1).mapPartitions(found).collect()
    assert [place for place in places if ".zip" in place] == []


def test_archives_of_a_spark_that_is_not_the_installed_package_stay(tmp_path: Path) -> None:
    package, elsewhere = tmp_path / "site" / "pyspark", tmp_path / "spark" / "python"
    for folder in (package, package / "python" / "lib", elsewhere / "pyspark", elsewhere / "lib"):
        folder.mkdir(parents=True)
    (package / "__init__.py").touch()
    (elsewhere / "pyspark" / "__init__.py").touch()
    own, other = package / "python" / "lib" / "pyspark.zip", elsewhere / "lib" / "pyspark.zip"
    own.touch()
    other.touch()
    path = [str(own), str(other), str(tmp_path / "site")]
    take_the_installed_pyspark(path)
    assert path == [str(other), str(tmp_path / "site")]
    lonely = [str(own)]
    take_the_installed_pyspark(lonely)
    assert lonely == [str(own)]
