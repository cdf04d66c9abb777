"""The JVM of a session in this process: has it ended? Python sees only a closed connection or a stopped context."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from contextlib import suppress

import psutil

from incremental_assets.core.errors import SparkEnded
from incremental_assets.core.model.table_id import TableId

_OF_GATEWAY = "_PYSPARK_DRIVER_CONN_INFO_PATH"
"""A variable that pyspark sets for what it starts."""
_ENDS_WITHIN = 10.0
"""Seconds. A JVM that is asked to end stops Spark first, whose jobs tell of it while it is still there."""
_ASKED_FOR = 0.5
"""Seconds, of a process that has to end soon."""
_LOOKS_EVERY = 0.02
_STOPPED = ("SparkContext was shut down", "stopped SparkContext")
"""Words of jobs that are cancelled so, and of calls that come after."""


def lost(error: BaseException, table: TableId) -> SparkEnded | None:
    """What to raise in place of an error that Python met because its JVM is gone; None where it is there, or another machine's."""
    process = _process()
    return SparkEnded(table, process.pid, process.returncode) if process is not None and is_gone(error) else None


def is_gone(error: BaseException) -> bool:
    """Whether the JVM that this process has started is gone, as an error that came of it makes one ask."""
    process = _process() if _tells_of_an_end(error) else None
    if process is None:
        return False
    try:
        process.wait(_ENDS_WITHIN)
    except subprocess.TimeoutExpired:
        return False
    return True


def end() -> None:
    """The JVM of a process that ends, even one that is still starting and not yet registered. Asked to exit first, so that it removes its files."""
    ours = [each for each in psutil.Process().children(recursive=True) if _is_of_gateway(each)]
    for number in (signal.SIGTERM, signal.SIGKILL):
        for process in ours:
            with suppress(psutil.Error):
                process.send_signal(number)
        # Not by `psutil.wait_procs`, which takes a child's exit code away: PySpark, which waits for it, would wait forever.
        deadline = time.monotonic() + _ASKED_FOR
        while (ours := [process for process in ours if not _has_ended(process)]) and time.monotonic() < deadline:
            time.sleep(_LOOKS_EVERY)


def _has_ended(process: psutil.Process) -> bool:
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def _is_of_gateway(process: psutil.Process) -> bool:
    with suppress(psutil.Error):
        return _OF_GATEWAY in process.environ()
    return False


def _tells_of_an_end(error: BaseException) -> bool:
    from py4j.protocol import Py4JError, Py4JJavaError

    if isinstance(error, (ConnectionError, Py4JError)) and not isinstance(error, Py4JJavaError):
        return True
    try:
        text = str(error)
    except Exception:  # noqa: BLE001 - Java is asked for the words, and is gone
        return True
    return any(words in text for words in _STOPPED)


def _process() -> subprocess.Popen[bytes] | None:
    """The process of the JVM; None where this process has started none."""
    core = sys.modules.get("pyspark.core.context")
    gateway = core.SparkContext._gateway if core is not None else None
    return getattr(gateway, "proc", None)
