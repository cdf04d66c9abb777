"""How a server of the demo is found and ended, whichever it is."""

from __future__ import annotations

import signal
from contextlib import suppress
from pathlib import Path

import psutil

from incremental_assets.core.errors import SetupError

PATIENCE = 90.0
"""Seconds for a start or an end: a start after a crash recovers first."""


def running(pid_file: Path, folder: Path) -> psutil.Process | None:
    """The server whose number is in the file, and which works in that folder; None where none does."""
    try:
        found = psutil.Process(int(pid_file.read_text(encoding="ascii")))
        is_it = found.cwd() == str(folder) and found.status() != psutil.STATUS_ZOMBIE
    except (OSError, ValueError, psutil.Error):
        return None
    return found if is_it else None


def end(server: psutil.Process, how: signal.Signals, title: str, log: Path) -> None:
    """Raises SetupError where it still runs after PATIENCE seconds."""
    with suppress(psutil.NoSuchProcess):
        server.send_signal(how)
        try:
            server.wait(PATIENCE)
        except psutil.TimeoutExpired:
            raise SetupError(
                f"The demo's {title} (process {server.pid}) still runs {PATIENCE:.0f} seconds after the signal to end; see {log}, and end it by `kill -9 {server.pid}`."
            ) from None
