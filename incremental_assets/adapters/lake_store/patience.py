"""How long a store that is busy is waited for, by what this process does at the moment."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

_LOOK_SECONDS = 30.0
"""A look must have ended before Dagster ends the tick, in which it has a minute; and people wait for commands that only show something."""
_WORK_SECONDS = 120.0
"""A store throttles for as long as it takes it to spread its load, which must not cost a sync. A request is made again with the credentials that it had: stores ask for less than five minutes."""
_lock = Lock()
_at_work = 0


def seconds() -> float:
    """How long a request may be made again."""
    return _WORK_SECONDS if is_at_work() else _LOOK_SECONDS


def is_at_work() -> bool:
    """Whether this process writes a table, or does a part of that for another."""
    return _at_work > 0


def begin_work() -> None:
    """It does from now on: a task."""
    _count(1)


@contextmanager
def at_work() -> Iterator[None]:
    """It does until the end of the block: whoever holds the lease of a table."""
    _count(1)
    try:
        yield
    finally:
        _count(-1)


def _count(more: int) -> None:
    global _at_work  # noqa: PLW0603 - of the process, whose threads and pools all work for it
    with _lock:
        _at_work += more
