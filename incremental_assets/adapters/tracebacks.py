"""Tracebacks of what no command expects: a file of its own for each, in the machine's folder for temporary files, which its owner alone reads."""

from __future__ import annotations

import os
import tempfile
import time
import traceback
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

_PREFIX, _SUFFIX = "incremental-assets-", ".log"


def kept(error: BaseException) -> str:
    """The file in which the traceback is kept."""
    with tempfile.NamedTemporaryFile("w", prefix=_PREFIX, suffix=_SUFFIX, delete=False, encoding="utf-8") as file:
        traceback.print_exception(error, file=file)
    return file.name


def remove_older(than: timedelta) -> int:
    """How many files of this user were removed; of others, or where the folder lets nobody, none."""
    until, removed = time.time() - than.total_seconds(), 0
    for file in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*{_SUFFIX}"):
        with suppress(OSError):
            found = file.lstat()
            if found.st_uid == os.getuid() and found.st_mtime < until and file.is_file() and not file.is_symlink():
                file.unlink()
                removed += 1
    return removed
