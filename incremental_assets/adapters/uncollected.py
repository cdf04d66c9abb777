"""Python's search for cycles, which goes through everything that lives, stands still while very much is made that has none."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

_lock = Lock()
_blocks = 0
_was_on = True


@contextmanager
def uncollected() -> Iterator[None]:
    """Until the last such block of the process ends. Objects without cycles are freed all the same."""
    global _blocks, _was_on  # noqa: PLW0603 - of the process, as the collector is
    with _lock:
        if not _blocks:
            _was_on = gc.isenabled()
            gc.disable()
        _blocks += 1
    try:
        yield
    finally:
        with _lock:
            _blocks -= 1
            if not _blocks and _was_on:
                gc.enable()
