"""The first bytes of a file, read by a process of its own: to close a file gives up all locks that the closing process has on it, and with them those of whoever reads or writes it there."""

from __future__ import annotations

import subprocess
from pathlib import Path

_BYTES = 28


def header(path: Path) -> bytes:
    """As far as there are any; empty where the file cannot be read."""
    # Of this system and not of ours: a millisecond, where an interpreter takes ten and may lie where this user may not go.
    return subprocess.run(["head", "-c", str(_BYTES), "--", str(path)], capture_output=True, check=False).stdout  # noqa: S607


def has_log(path: Path) -> bool:
    """Whether it has a write-ahead log; False where that cannot be read."""
    return header(path)[18:20] == b"\x02\x02"
