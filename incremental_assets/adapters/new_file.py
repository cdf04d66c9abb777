"""A file that others may only see whole: on disk before anything names it, and readable as far as the lake's folder lets anybody in."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

_MODE = 0o640
"""The mode with which a JVM of ours makes its files, see `adapters.permissions`."""


@contextmanager
def new_file(path: Path) -> Iterator[BinaryIO]:
    """A file that was not there, on disk when the block ends; removed where the block fails."""
    with os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, _MODE), "wb") as file:
        try:
            yield file
            file.flush()
            os.fsync(file.fileno())
        except BaseException:
            with suppress(OSError):
                path.unlink()
            raise


def sync_folder(path: Path) -> None:
    """The names in a folder, on disk."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def as_ours(path: Path) -> None:
    """Take from a file that a library has made what `new_file` would not have given."""
    with suppress(OSError):
        path.chmod(path.stat().st_mode & _MODE)
