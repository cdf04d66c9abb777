"""SIGTERM to the server of a code location: it and its runs end within seconds.

Dagster's own handler waits for its runs, for hours if need be. Here they end as by the button in the UI: a run cancels its work, releases its
leases, and is shown as failed; the next tick requests it again.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from multiprocessing import active_children, parent_process

_PATIENCE = 6.0
"""Seconds for runs to end. They need five at most; `docker stop` kills after ten, and then no process is left to report their end."""
_AGAIN = 0.2
"""Seconds after which a run that began in the meantime is interrupted."""
_NOBODY = -1


def end_runs_with_server() -> None:
    """Called while a server loads its definitions. A run's own process has none to end."""
    if parent_process() is not None or threading.current_thread() is not threading.main_thread():
        return
    # Not a handler: Dagster puts its own in the place of every other as soon as the definitions are loaded.
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    before = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    if before != _NOBODY:
        # A handler is installed already: ours, if the definitions are loaded a second time.
        signal.set_wakeup_fd(before)
        os.close(writer)
        os.close(reader)
        return
    threading.Thread(target=_listen, args=(reader,), name="signals", daemon=True).start()


def _listen(reader: int) -> None:
    while os.read(reader, 1)[0] != signal.SIGTERM:
        pass
    _end_runs()


def _end_runs() -> None:
    """Ends runs for as long as the process lives: one may be starting just now."""
    warned, deadline = set[int | None](), time.monotonic() + _PATIENCE
    while True:
        for run in active_children():
            if time.monotonic() > deadline:
                run.kill()
            elif run.pid not in warned:
                run.terminate()
                warned.add(run.pid)
        time.sleep(_AGAIN)
