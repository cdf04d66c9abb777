"""What is made anew in Dagster's home is made by one process at a time: Dagster's own storages fail where two begin together."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from sqlalchemy.exc import DatabaseError

Opened = TypeVar("Opened")

_FILE = "opening"
_PATIENCE = 60.0
"""Seconds: an opening takes less than one, and a process that was stopped in the middle of it stops no other for good."""
_POLL = 0.02
_MEANWHILE = ("already exists", "database is locked", "UNIQUE constraint failed: alembic_version")
"""What SQLite says where another program, such as Dagster's own, makes the same file at this moment."""


@contextmanager
def alone(home: Path) -> Iterator[None]:
    """In the block no other process of ours opens what lies in this home. The kernel ends the wait for one that died."""
    descriptor = os.open(home / _FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        _lock(descriptor)
        yield
    finally:
        os.close(descriptor)


def opened(opening: Callable[[], Opened]) -> Opened:
    """What `opening` opens, asked again where another program makes it at this moment. Raises what it raises in the end."""
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            return opening()
        except DatabaseError as error:
            if time.monotonic() > deadline or not any(each in str(error.orig) for each in _MEANWHILE):
                raise
        time.sleep(_POLL)


def _lock(descriptor: int) -> None:
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(_POLL)
        except OSError:
            return  # a disk without locks
        else:
            return
