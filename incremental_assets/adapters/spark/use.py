"""Tells whether a kept engine is used, and when it last was: by a lock that the operating system takes back from a run that is killed.

A run shares the lock while it has a session. A process that holds it alone knows that nobody uses the engine, and that nobody begins to.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TextIO

_FILE = "engine.use"
"""It is never removed: who waits for it must wait for the same file. Its time of change is that of the last use."""


class Use:
    """One run's use of a kept engine, until `end` or the end of its process. Waits while somebody decides that nobody uses it."""

    def __init__(self, folder: Path) -> None:
        self._file = _opened(folder)
        fcntl.flock(self._file, fcntl.LOCK_SH)

    def end(self) -> None:
        """The engine's time without use begins now. May be called again."""
        if not self._file.closed:
            os.utime(self._file.fileno())
            self._file.close()


def touch(folder: Path) -> None:
    """Mark the engine as used just now."""
    with _opened(folder) as file:
        os.utime(file.fileno())


@contextmanager
def unused(folder: Path) -> Iterator[datetime | None]:
    """When its last use ended, and nobody begins another before the end of the block; None while it is used."""
    with _opened(folder) as file:
        last = None
        with suppress(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            last = _changed(file)
        yield last


def last_use(folder: Path) -> datetime:
    """Wait until nobody uses the engine, and return when its last use ended: now, where that was waited for, as a run that was killed has noted nothing."""
    with _opened(folder) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            fcntl.flock(file, fcntl.LOCK_EX)
            os.utime(file.fileno())
        return _changed(file)


def _opened(folder: Path) -> TextIO:
    return os.fdopen(os.open(folder / _FILE, os.O_RDWR | os.O_CREAT, 0o600), "r+", encoding="utf-8")


def _changed(file: TextIO) -> datetime:
    return datetime.fromtimestamp(os.fstat(file.fileno()).st_mtime, UTC)
