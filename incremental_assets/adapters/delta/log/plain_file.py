"""A file of a log, read only where it is one: whoever may write to the lake can put a pipe there, for which a reader would wait forever."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from incremental_assets.core.errors import TargetChanged


def plain_text(file: Path) -> str:
    """What it holds. Raises FileNotFoundError, TargetChanged."""
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise TargetChanged(
            f"{file} cannot be read ({error.strerror}); let this user read it, or move it away"
        ) from None
    with os.fdopen(descriptor, encoding="utf-8") as opened:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise TargetChanged(f"{file} is no file, but a pipe or a device; remove it")
        return opened.read()
