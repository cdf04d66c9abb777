"""The JVM of a session of this process's own: whether it has ended, which Python meets as a connection that is closed or a context that stopped."""

from __future__ import annotations

import subprocess
import sys

from incremental_assets.core.errors import SparkEnded
from incremental_assets.core.table import TableId

_ENDS_WITHIN = 10.0
"""Seconds. A JVM that is asked to end stops Spark first, whose jobs tell of it while it is still there."""
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


def _tells_of_an_end(error: BaseException) -> bool:
    from py4j.protocol import Py4JError, Py4JJavaError

    if isinstance(error, (ConnectionError, Py4JError)) and not isinstance(error, Py4JJavaError):
        return True
    try:
        told = str(error)
    except Exception:  # noqa: BLE001 - Java is asked for the words, and is gone
        return True
    return any(words in told for words in _STOPPED)


def _process() -> subprocess.Popen[bytes] | None:
    """None where this process has started no JVM."""
    core = sys.modules.get("pyspark.core.context")
    gateway = core.SparkContext._gateway if core is not None else None
    return getattr(gateway, "proc", None)
