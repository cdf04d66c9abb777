"""A run's side of a kept engine: ask for one where there is none, and hold it while it is used."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from incremental_assets.adapters.permissions import own_folder, strict
from incremental_assets.core.concurrency.interruption import this_process
from incremental_assets.core.errors import SetupError

READY = "ready"
"""What the keeper says once the engine is announced; anything else is why there is none."""
LOG = "keeper.log"


@dataclass(frozen=True, slots=True)
class Keep:
    """That runs leave an engine behind: for how long without use, and which variables it does not inherit, as they hold passwords."""

    idle: timedelta
    without: tuple[str, ...] = ()


@contextmanager
def ask_for_engine(folder: Path, keep: Keep) -> Iterator[None]:
    """An engine is announced when the block begins, by a process that stays and will end it: not before the block has ended.

    Raises SetupError where there can be none. Of runs that ask at the same time one gets the engine started, and all of them find it.
    """
    try:
        own_folder(folder)
        log = os.open(folder / LOG, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    except OSError as error:
        raise SetupError(
            f"the engine needs the folder {folder}, which cannot be used ({error.strerror}); fix its permissions, or point DAGSTER_HOME elsewhere"
        ) from None
    try:
        keeper = subprocess.Popen(
            # Without the folder it starts in among the places of modules.
            [
                sys.executable,
                "-P",
                "-m",
                "incremental_assets.adapters.spark.keeper",
                str(folder),
                f"{keep.idle.total_seconds()}",
            ],
            cwd=folder,
            env={name: value for name, value in os.environ.items() if name not in keep.without},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            start_new_session=True,
            umask=strict(),
        )
    finally:
        os.close(log)
    assert keeper.stdin is not None  # noqa: S101 - asked for above
    assert keeper.stdout is not None  # noqa: S101 - asked for above
    with keeper.stdin:
        with this_process.cancelling(keeper.terminate), keeper.stdout:
            said = keeper.stdout.readline().decode().strip()
        if said == READY:
            yield
        elif this_process.asked:
            raise RuntimeError("interrupted while the engine started")
        else:
            raise SetupError(
                said or f"the process that keeps the engine ended while it started; its log is {folder / LOG}"
            )
