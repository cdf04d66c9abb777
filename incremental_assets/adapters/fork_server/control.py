"""Start, find and end the fork server of a folder; the socket itself says which process that is."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from incremental_assets.adapters.fork_server.channel import peer
from incremental_assets.adapters.fork_server.client import connect
from incremental_assets.adapters.permissions import strict
from incremental_assets.adapters.process import ProcessIdentity

_READY_WITHIN = 60
"""Seconds; an idle machine takes three."""
_ENDS_WITHIN = 5
_LOG = "fork_server.log"


class Starting:
    """A server that imports while its caller does something else."""

    def __init__(self, folder: Path, process: subprocess.Popen[bytes]) -> None:
        self._folder, self._process = folder, process

    def finish(self) -> str:
        """Wait until it answers. Returns why it never will, which is no error: commands import for themselves."""
        deadline = time.monotonic() + _READY_WITHIN
        while time.monotonic() < deadline:
            if self._process.poll() is not None:
                return f"commands import for themselves: the process that would do it for them has ended, its log is {self._folder / _LOG}"
            if running(self._folder) == self._process.pid:
                return ""
            time.sleep(0.02)
        self.give_up()
        return f"commands import for themselves: the process that would do it for them took more than {_READY_WITHIN} seconds"

    def end(self) -> None:
        """End it, also if it does not answer yet. Commands that it began go on to their end."""
        if running(self._folder) == self._process.pid:
            stop(self._folder)
        else:
            self.give_up()

    def give_up(self) -> None:
        """The engine beside it has not come."""
        self._process.kill()
        self._process.wait()


def start(folder: Path, without: Collection[str]) -> Starting | None:
    """Begin to start one, in the place of one that runs: the program may have changed since. `without`: variables that hold passwords.

    None where the operating system is not Linux.
    """
    if not sys.platform.startswith("linux"):
        return None
    stop(folder)
    environment = {name: value for name, value in os.environ.items() if name not in without}
    log = os.open(folder / _LOG, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        process = subprocess.Popen(
            # Without the folder it starts in among the places of modules.
            [sys.executable, "-P", "-m", "incremental_assets.cli.preloaded", str(folder)],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            umask=strict(),
        )
    finally:
        os.close(log)
    return Starting(folder, process)


def running(folder: Path) -> int | None:
    """The process of the server there, or None."""
    connection = connect(folder)
    if connection is None:
        return None
    with connection:
        return peer(connection)[0]


def stop(folder: Path) -> None:
    """End the server. Commands that it began go on to their end."""
    pid = running(folder)
    if pid is None:
        return
    process = ProcessIdentity.of(pid)
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)
    deadline = time.monotonic() + _ENDS_WITHIN
    # It is away from the socket before its last command is.
    while running(folder) == pid and not process.is_gone and time.monotonic() < deadline:
        time.sleep(0.02)
