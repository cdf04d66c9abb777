"""A file of a log, opened only where it is a regular one: somebody who may write to the lake can put a pipe there, for which a reader would wait forever."""

from __future__ import annotations

import os
from pathlib import Path

from incremental_assets.adapters.permissions import plain_file
from incremental_assets.core.errors import TargetChanged


def plain_text(file: Path) -> str:
    """The file's text. Raises FileNotFoundError, TargetChanged for what is no regular file or may not be read, UnicodeDecodeError."""
    with os.fdopen(_opened(file), encoding="utf-8") as opened:
        return opened.read()


def plain_bytes(file: Path) -> bytes:
    """The file's bytes. Raises as `plain_text`."""
    with os.fdopen(_opened(file), "rb") as opened:
        return opened.read()


def plain_end(file: Path, count: int) -> tuple[int, bytes]:
    """The file's size, and the last of its bytes. Raises as `plain_text`."""
    descriptor = _opened(file)
    try:
        size = os.fstat(descriptor).st_size
        return size, os.pread(descriptor, count, max(0, size - count))
    finally:
        os.close(descriptor)


def plain_start(file: Path, count: int) -> bytes:
    """The first of the file's bytes. Raises as `plain_text`."""
    with os.fdopen(_opened(file), "rb") as opened:
        return opened.read(count)


def check_plain(file: Path) -> None:
    """Checks a file that a library is about to open. Raises FileNotFoundError, and TargetChanged for what is no regular file or may not be read."""
    os.close(_opened(file))


def _opened(file: Path) -> int:
    try:
        descriptor = plain_file(file)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise TargetChanged(
            f"{file} cannot be read ({error.strerror}); let this user read it, or move it away"
        ) from None
    if descriptor is None:
        raise TargetChanged(f"{file} is no file, but a pipe or a device; remove it")
    return descriptor
