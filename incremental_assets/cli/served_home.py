"""Which `dev` serves a DAGSTER_HOME: one at a time, and the next one ends what a killed one has left running."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

from incremental_assets.adapters.process import ProcessIdentity
from incremental_assets.core.errors import SetupError

_RECORD = "dev.serving"
_RUNS_END_WITHIN = 20
"""Seconds for runs in progress to end before they are killed: the next sync finishes what they have not committed."""


def take_over(home: Path) -> str:
    """What was ended, in a sentence; empty where nothing was left. SetupError where another `dev` serves this home."""
    try:
        keeper, dagster, url = (home / _RECORD).read_text(encoding="utf-8").splitlines()
        served_by, served = ProcessIdentity.parse(keeper), ProcessIdentity.parse(dagster)
    except (FileNotFoundError, ValueError):
        return ""
    # A power cut ends it as well, and leaves the record.
    if not (served_by.is_gone or served_by.is_of_another_boot):
        raise SetupError(
            f"`incremental-assets dev` ({served_by}) serves {home} already, at {url}: a second daemon would start its runs again; "
            f"end that one, or set another DAGSTER_HOME; if it has ended, as one in another container may have, remove {home / _RECORD}"
        )
    (home / _RECORD).unlink(missing_ok=True)
    if served.is_gone or served.is_of_another_boot:
        return ""
    end_group(served.pid)
    return f"a `dev` that was killed had left Dagster running ({served}); it was ended"


@contextmanager
def serving(home: Path, dagster: int, url: str) -> Iterator[None]:
    """This process serves the home by that one, the first of its group, while the block runs."""
    identities = (ProcessIdentity.here().text, ProcessIdentity.of(dagster).text)
    (home / _RECORD).write_text("\n".join((*identities, url)), encoding="utf-8")
    try:
        yield
    finally:
        (home / _RECORD).unlink(missing_ok=True)


@contextmanager
def hearing_sigint() -> Iterator[None]:
    """What is started in the block ends by SIGINT. A shell starts what stands before `&` deaf to it, and so would be its children, for which their end would be waited in vain."""
    before = signal.getsignal(signal.SIGINT)
    if before is not signal.SIG_IGN:
        yield
        return
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def end_group(first: int) -> None:
    """End a process group, of this process or of one that has ended: by SIGINT, then SIGTERM, then SIGKILL."""
    for number, patience in ((signal.SIGINT, _RUNS_END_WITHIN), (signal.SIGTERM, 5), (signal.SIGKILL, 5)):
        try:
            os.killpg(first, number)
        except ProcessLookupError:
            break
        with suppress(psutil.TimeoutExpired, psutil.NoSuchProcess):
            psutil.Process(first).wait(patience)
        if not _lives(first):
            break


def _lives(group: int) -> bool:
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return False
        time.sleep(0.1)
    return True
