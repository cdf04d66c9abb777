"""One process at a time reads a source's log: the kernel ends the turn of one that dies."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from incremental_assets.adapters.logs.disk import written_to
from incremental_assets.adapters.permissions import own_folder
from incremental_assets.core.concurrency.interruption import this_process
from incremental_assets.core.errors import LakeRefused, SourceUnreachable

_FILE = "lock"
_POLL_SECONDS = 0.05
TURN_SECONDS = 900.0
"""For whoever reads: a backlog of hours is decoded within that, and tables that ask meanwhile wait."""


@contextmanager
def alone(folder: Path, patience: float) -> Iterator[None]:
    """A turn at the segments of a source. Raises SourceUnreachable where another one's takes too long, LakeRefused where the disk has no locks."""
    with written_to(folder):
        own_folder(folder)
        descriptor = os.open(folder / _FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        _wait(descriptor, folder, patience)
        yield
    finally:
        os.close(descriptor)


def _wait(descriptor: int, folder: Path, patience: float) -> None:
    until = time.monotonic() + patience
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            this_process.refuse(folder.name)
            if time.monotonic() > until:
                raise SourceUnreachable(
                    f"another run reads the log into {folder} for longer than {patience:.0f} seconds; try again when it has ended"
                ) from None
        except OSError as error:
            raise LakeRefused(
                f"{folder} cannot be locked ({error.strerror}), and two who read one log would take each other's place; have the lake on a disk with locks"
            ) from None
        else:
            return
        time.sleep(_POLL_SECONDS)
