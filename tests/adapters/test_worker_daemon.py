"""The daemon of Spark's Python workers on this machine."""

from __future__ import annotations

import os
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator

import pytest

PROGRAM = """
from pyspark.daemon import manager
from incremental_assets.adapters.spark.worker_daemon import end_when_idle
end_when_idle(0.2)
manager()
"""


@pytest.fixture
def daemon() -> Iterator[subprocess.Popen[bytes]]:
    pipe = subprocess.PIPE
    environment = os.environ | {"PYTHON_WORKER_FACTORY_SECRET": "secret"}
    with subprocess.Popen([sys.executable, "-c", PROGRAM], stdin=pipe, stdout=pipe, env=environment) as process:
        yield process
        process.kill()


def test_one_that_has_no_worker_ends_and_one_that_has_does_not(daemon: subprocess.Popen[bytes]) -> None:
    assert daemon.stdout is not None
    (port,) = struct.unpack("!i", daemon.stdout.read(4))
    with socket.create_connection(("127.0.0.1", port)) as connection:
        # The number of the worker's process, which waits for its secret.
        assert struct.unpack("!i", connection.recv(4))[0] > 0
        with pytest.raises(subprocess.TimeoutExpired):
            daemon.wait(2)
    assert daemon.wait(60) == 1


def test_what_a_task_needs_is_there_before_the_first_fork_and_pandas_is_not() -> None:
    program = """
import sys
from incremental_assets.adapters.spark.worker_daemon import MODULES, preload
preload()
print(sorted(set(MODULES) - set(sys.modules)), "pandas" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[] False"
