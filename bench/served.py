"""A command of the product that runs until it is ended, as Ctrl-C ends it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_PATIENCE = 90


@contextmanager
def served(
    *arguments: str | Path, environment: Mapping[str, str], folder: Path, **more: Any
) -> Iterator[subprocess.Popen[bytes]]:
    """`incremental-assets` with these arguments, below a folder; `environment` beside that of this process."""
    # A shell that started this in the background has it ignore Ctrl-C, and what is ignored is inherited.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    process = subprocess.Popen(
        [Path(sys.executable).with_name("incremental-assets"), *arguments],
        env={**os.environ, **environment},
        cwd=folder,
        start_new_session=True,
        **more,
    )
    try:
        yield process
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
