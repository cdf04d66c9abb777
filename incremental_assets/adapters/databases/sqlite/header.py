"""The first bytes of a file, read by a process of its own: to close a file gives up all locks that the closing process has on it, and with them those of whoever reads or writes it there."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

_READ = "import sys; sys.stdout.buffer.write(open(sys.argv[1], 'rb').read(28))"


def header(path: Path) -> bytes:
    """As far as there are any; empty where the file cannot be read."""
    read = [sys.executable, "-I", "-S", "-c", _READ, str(path)]
    return subprocess.run(read, capture_output=True, check=False).stdout


def has_log(path: Path) -> bool:
    """Whether it has a write-ahead log; False where that cannot be read."""
    return header(path)[18:20] == b"\x02\x02"
