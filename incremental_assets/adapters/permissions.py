"""File permissions: what we write is readable by its owner only, and by a group if the lake's folder allows it. Files are opened so that nothing put in their place does harm."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import IO

_BUFFER_BYTES = 2**20
UMASK = 0o027
"""The umask of every JVM: a group may read the tables of a lake whose folder it may enter."""


def own_folder(path: Path) -> Path:
    """The folder, created for this user alone if it is missing, as are its parents; an existing one keeps its mode."""
    for missing in reversed([each for each in (path, *path.parents) if not each.exists()]):
        missing.mkdir(mode=0o700, exist_ok=True)
    return path


def own_file(path: Path) -> None:
    """An empty file for this user alone, unless it exists; if it cannot be created, the later write reports it."""
    with suppress(OSError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def plain_file(path: Path, flags: int = os.O_RDONLY) -> int | None:
    """The descriptor of a regular file, which `flags` may create for this user alone; None for a pipe, whose reader would wait forever, and for a device. Raises OSError, also for a folder."""
    descriptor = os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)
    kind = os.fstat(descriptor).st_mode
    if stat.S_ISREG(kind):
        return descriptor
    os.close(descriptor)
    if stat.S_ISDIR(kind):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    return None


def nameless_file(folder: Path) -> IO[bytes]:
    """A file on the disk of a folder that has no name from the beginning: whatever ends this process, nothing is left over. Raises OSError."""
    return tempfile.TemporaryFile(dir=folder, buffering=_BUFFER_BYTES)


def scratch_folder() -> Path:
    """The folder in which Spark stores shuffles and spills: this user's own in the temporary folder; where another user has taken its name, one of this process."""
    shared = Path(tempfile.gettempdir()) / f"incremental-assets-{os.geteuid()}"
    with suppress(FileExistsError):
        shared.mkdir(mode=0o700)
    found = shared.lstat()
    if stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o077:
        return shared
    # Anybody may have been quicker with that name.
    return _another(shared.parent)


@cache
def _another(temporary: Path) -> Path:
    return Path(tempfile.mkdtemp(prefix="incremental-assets-", dir=temporary))


def strict() -> int:
    """This process's umask, and ours on top."""
    current = os.umask(0o077)
    os.umask(current)
    return current | UMASK


@contextmanager
def strictly() -> Iterator[None]:
    """A process that is started in this block creates no world-readable file."""
    before = os.umask(strict())
    try:
        yield
    finally:
        os.umask(before)
