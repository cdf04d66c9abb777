"""What a JVM of ours writes to stderr, without what it says at each start of a module that Spark asks for."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from incremental_assets.core.concurrency.background import in_background

_AT_EACH_START = b"WARNING: Using incubator modules:"
"""The JVM has no option that silences it, and Spark none that leaves the module out."""


@contextmanager
def passed_on() -> Iterator[int]:
    """The stderr of a process that begins in the block: its lines go where this process's own go now, for as long as it writes."""
    reading, writing = os.pipe()
    try:
        to = os.dup(2)
        in_background(lambda: _pass_on(reading, to))
        yield writing
    finally:
        # The process has its own copy; once that is closed too, the lines are at an end.
        os.close(writing)


def _pass_on(reading: int, to: int) -> None:
    with os.fdopen(reading, "rb") as lines, os.fdopen(to, "wb", buffering=0) as stderr:
        for line in lines:
            if not line.startswith(_AT_EACH_START):
                # Nobody reads it any more: the process must not wait for that.
                with suppress(OSError):
                    stderr.write(line)
