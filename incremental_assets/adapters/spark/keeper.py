"""`python -m incremental_assets.adapters.spark.keeper FOLDER SECONDS`: starts an engine, and ends it when nobody has used it for so long.

A run that finds no engine leaves this process behind. It waits for the end of uses and for its time, and polls nothing.
"""

from __future__ import annotations

import os
import select
import signal
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from incremental_assets.adapters.fork_server import control
from incremental_assets.adapters.process import ProcessIdentity
from incremental_assets.adapters.spark import connect_server as server
from incremental_assets.adapters.spark.kept import READY
from incremental_assets.adapters.spark.server_record import Announced, is_announced, is_kept
from incremental_assets.adapters.spark.use import last_use, touch
from incremental_assets.core.errors import SetupError

_LOOKS_AFTER = timedelta(hours=1)
"""How long to wait for the next look at the most: the engine may have been made one that stays."""


def main(folder: Path, idle: timedelta) -> None:
    """Start it, say so, and keep it to its end."""
    signal.signal(signal.SIGTERM, _end)
    me = ProcessIdentity.here().text
    try:
        engine, _ = server.start(folder, keeper=me, idle=idle)
    except SetupError as error:
        _say(str(error))
        return
    if engine.keeper != me:
        _say(READY)
        return
    with ExitStack() as at_end:
        # Also where it has ended by itself, or this process is asked to end: nothing of it stays.
        at_end.callback(_reap)
        at_end.callback(server.end_kept, folder, engine)
        touch(folder)
        _say(READY)
        # The run that asked uses it by then, or has been killed.
        sys.stdin.read()
        _keep(folder, engine, at_end)


def _keep(folder: Path, engine: Announced, at_end: ExitStack) -> None:
    """Return when the engine was ended after its time without use, has ended by itself, or is no longer this process's to end."""
    forks: control.Starting | None = None
    with _end_of(engine) as ended:
        while is_kept(folder, engine):
            left = last_use(folder) + engine.patience - datetime.now(UTC)
            if left <= timedelta(0):
                if server.end_kept(folder, engine, unless_used=True):
                    return
                continue
            if forks is None and (forks := control.start(folder, ())):
                # Not before the first run has ended: two seconds of imports, of which that run would have nothing.
                at_end.callback(_end_forks, folder, engine, forks)
            select.select(ended, [], [], min(left, _LOOKS_AFTER).total_seconds())


def _end_forks(folder: Path, engine: Announced, forks: control.Starting) -> None:
    """Unless the engine stays."""
    if not is_announced(folder, engine) or is_kept(folder, engine):
        forks.end()


@contextmanager
def _end_of(engine: Announced) -> Iterator[list[int]]:
    """What can be read as soon as the engine has ended; nothing on a kernel before 5.3, where that is noticed when its time has come."""
    try:
        watched = [os.pidfd_open(engine.process.pid)]
    except OSError:
        watched = []
    try:
        yield watched
    finally:
        for each in watched:
            os.close(each)


def _reap() -> None:
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _say(sentence: str) -> None:
    """Write a line to the run that waits for it, which may have been killed, and close this process's stdout: it is the null device from then on."""
    with suppress(BrokenPipeError), os.fdopen(os.dup(1), "w") as waiting:
        waiting.write(f"{sentence}\n")
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
    os.close(nothing)


def _end(*_: object) -> None:
    sys.exit(0)


if __name__ == "__main__":
    main(Path(sys.argv[1]), timedelta(seconds=float(sys.argv[2])))
