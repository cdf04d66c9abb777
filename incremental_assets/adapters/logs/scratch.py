"""A file between the log and the lake, which belongs to one sync: what a process left that died is removed by the next one."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

from incremental_assets.adapters.logs.disk import IN_SEGMENTS, written_to
from incremental_assets.adapters.permissions import own_folder

_SUFFIX = ".parquet"


@contextmanager
def scratch_file(folder: Path) -> Iterator[Path]:
    """An empty file of this process alone, for as long as the block lasts. Raises LakeRefused where the disk takes none."""
    with written_to(folder, IN_SEGMENTS):
        own_folder(folder)
        _sweep(folder)
        path = folder / f"{uuid4().hex}{_SUFFIX}"
        descriptor = _held(path)
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)
        os.close(descriptor)


def _held(path: Path) -> int:
    """Locked: the kernel gives the lock back when this process ends, however it does."""
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        # Another one may have swept it between the two.
        if os.fstat(descriptor).st_nlink:
            return descriptor
        os.close(descriptor)


def _sweep(folder: Path) -> None:
    """Remove files that no process holds."""
    for path in folder.glob(f"*{_SUFFIX}"):
        with suppress(OSError):
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                path.unlink()
            finally:
                os.close(descriptor)
