"""The JVM of a session of this process's own: whether it has ended, which all that Python then meets is a closed connection."""

from __future__ import annotations

import subprocess
import sys

from incremental_assets.core.errors import SparkEnded
from incremental_assets.core.table import TableId

_TAKES_NOTICE = 2.0
"""Seconds within which a process that has closed its connections has ended."""


def ended(error: BaseException, table: TableId) -> SparkEnded | None:
    """What to raise in place of an error that Python met because its JVM is gone; None where it is there, or another machine's."""
    process = _process()
    return SparkEnded(table, process.pid, process.returncode) if process is not None and is_gone(error) else None


def is_gone(error: BaseException) -> bool:
    """Whether the JVM that this process has started is gone, as an error that came of it makes one ask."""
    process = _process() if _is_of_connection(error) else None
    if process is None:
        return False
    try:
        process.wait(_TAKES_NOTICE)
    except subprocess.TimeoutExpired:
        return False
    return True


def _is_of_connection(error: BaseException) -> bool:
    """What Java itself raised came over a connection that works."""
    from py4j.protocol import Py4JError, Py4JJavaError

    return isinstance(error, (OSError, Py4JError)) and not isinstance(error, Py4JJavaError)


def _process() -> subprocess.Popen[bytes] | None:
    """None where this process has started no JVM."""
    core = sys.modules.get("pyspark.core.context")
    gateway = core.SparkContext._gateway if core is not None else None
    return getattr(gateway, "proc", None)
