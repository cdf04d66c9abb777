"""Chooses Arrow's memory pool for a process: it is set when pyarrow is first imported."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

_VARIABLE = "ARROW_DEFAULT_MEMORY_POOL"
_POOL = "jemalloc"
"""It gives the system back at once what is free again. Arrow's usual one keeps it: of a worker that reads, matches and writes, as much again as its rows take."""


@contextmanager
def gives_memory_back() -> Iterator[None]:
    """Sets the memory pool for a pyarrow that is imported in this block, unless the environment names one. The variable itself is not passed on."""
    if _VARIABLE in os.environ:
        yield
        return
    os.environ[_VARIABLE] = _POOL
    try:
        yield
    finally:
        del os.environ[_VARIABLE]
