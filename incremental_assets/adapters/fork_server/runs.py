"""Dagster's runs as forks of the process beside the engine.

The server of a code location starts each run by `multiprocessing`, and asks a program to be the Python of it: ours, which hands the run over, or
becomes Python where nobody takes it. So it stays Dagster's process: its server waits for it, interrupts it, and reports how it ended.
"""

from __future__ import annotations

import multiprocessing
import os
import re
import signal
import sys
import sysconfig
from collections.abc import Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import NoReturn

from incremental_assets.adapters.fork_server.channel import MOST_INHERITED, RUN
from incremental_assets.adapters.fork_server.client import handed_over

_SERVER = ["api", "grpc"]
"""How the command line of such a server begins, whoever starts it."""
_SPAWNED = re.compile(
    r"from multiprocessing\.spawn import spawn_main; spawn_main\(tracker_fd=(\d+), pipe_handle=(\d+)\)"
)
_MARK = "--multiprocessing-fork"
_KILLED = 128
"""The status of a process that a signal has ended is this and the number of the signal."""


def begin_as_forks() -> None:
    """Called while the server of a code location loads its definitions. Elsewhere, and in a run's own process, it does nothing."""
    if not sys.platform.startswith("linux") or multiprocessing.parent_process() is not None or sys.argv[1:3] != _SERVER:
        return
    script = Path(sysconfig.get_path("scripts")) / "incremental-assets"
    if os.access(script, os.X_OK):
        multiprocessing.set_executable(str(script))


def is_python(arguments: Sequence[str]) -> bool:
    """Whether `multiprocessing` takes this program for Python."""
    return any(
        option == "-c" and program.startswith("from multiprocessing.") for option, program in pairwise(arguments)
    )


def be_python(arguments: Sequence[str], folder: Path) -> NoReturn:
    """The process that `multiprocessing` asked for: a fork of the one in the folder, for which this one waits, or this one as Python."""
    handles = _SPAWNED.fullmatch(arguments[-2]) if len(arguments) > 1 and arguments[-1] == _MARK else None
    files = _inherited()
    if handles is not None and len(files) <= MOST_INHERITED:
        code = handed_over(RUN, [_MARK, *handles.groups()], folder, files)
        if code is not None:
            _end_as(code)
    os.execv(sys.executable, [sys.executable, *arguments])  # noqa: S606 - what would have been started instead of this program


def run(arguments: Sequence[str]) -> None:
    """In the fork: what Python would have been asked to do."""
    from multiprocessing.spawn import spawn_main

    if os.environ.get("PYTHONUNBUFFERED"):
        for stream in (sys.stdout, sys.stderr):
            stream.reconfigure(write_through=True)  # type: ignore[union-attr]
    _, tracker, pipe = arguments
    spawn_main(pipe_handle=int(pipe), tracker_fd=int(tracker))


def _inherited() -> list[int]:
    """The files that `multiprocessing` has left open for its child: Python opens none that a child would inherit."""
    found = []
    for file in Path("/proc/self/fd").iterdir():
        with suppress(OSError):  # the folder itself, closed since
            if int(file.name) > 2 and os.get_inheritable(int(file.name)):
                found.append(int(file.name))
    return found


def _end_as(code: int) -> NoReturn:
    """End as the fork has ended, by a signal if it was one: Dagster says of which."""
    number = code - _KILLED
    if number in signal.valid_signals():
        with suppress(OSError):  # SIGKILL has no handler
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    sys.exit(code)
