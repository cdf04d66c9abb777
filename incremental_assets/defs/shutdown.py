"""SIGTERM to the server of a code location: its runs end within seconds, and it with them.

Dagster's own waits for them, be it for hours, until whoever stops it loses patience and kills all. What ends a run here is what ends it from
its page in the UI: it cancels what is at work, gives its leases back, and is shown as failed; the next tick asks again.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from multiprocessing import active_children, parent_process

_PATIENCE = 6.0
"""Seconds for runs to end. They need five at most; `docker stop` kills after ten, and then nobody is left who could say what became of them."""
_AGAIN = 0.2
"""Seconds after which a run is told that began in the meantime."""
_NOBODY = -1


def end_runs_with_server() -> None:
    """Called while a server loads its definitions. A run's own process has none to end."""
    if parent_process() is not None or threading.current_thread() is not threading.main_thread():
        return
    # Not a handler: Dagster puts its own in the place of every other as soon as the definitions are loaded.
    ears, mouth = os.pipe()
    os.set_blocking(mouth, False)
    before = signal.set_wakeup_fd(mouth, warn_on_full_buffer=False)
    if before != _NOBODY:
        # Somebody listens already: this, if the definitions are loaded once more.
        signal.set_wakeup_fd(before)
        os.close(mouth)
        os.close(ears)
        return
    threading.Thread(target=_listen, args=(ears,), name="signals", daemon=True).start()


def _listen(ears: int) -> None:
    while os.read(ears, 1)[0] != signal.SIGTERM:
        pass
    _end_runs()


def _end_runs() -> None:
    """For as long as the process lives: one may be starting just now."""
    warned, deadline = set[int | None](), time.monotonic() + _PATIENCE
    while True:
        for run in active_children():
            if time.monotonic() > deadline:
                run.kill()
            elif run.pid not in warned:
                run.terminate()
                warned.add(run.pid)
        time.sleep(_AGAIN)
