"""`spark.python.daemon.module` on this machine: Spark's own daemon, which forks its workers, with all imported that our tasks need.

Each worker would import it for itself, as soon as it has its first task. An engine has a daemon for each session, so that each would import it
again: there the daemon is a fork of the process beside the engine.
"""

from __future__ import annotations

import gc
import importlib
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

from incremental_assets.adapters.spark.arrow_pool import gives_memory_back

FORKS = "INCREMENTAL_ASSETS_FORKS"
"""The variable that names the folder of that process."""
_DATABASES = Path(__file__).parents[1] / "databases"
MODULES = (
    # A database whose rows are read inside tasks has a module for that in its folder.
    *(
        ".".join(("incremental_assets.adapters.databases", *part.relative_to(_DATABASES).with_suffix("").parts))
        for part in _DATABASES.rglob("copy_part.py")
    ),
    "pyspark.daemon",
    "pyspark.worker",
    "incremental_assets.adapters.spark.tasks",
    "incremental_assets.adapters.delta.staging.staging_task",
    "incremental_assets.adapters.delta.tasks.matching.apply_task",
    "incremental_assets.adapters.delta.tasks.load_task",
)
"""What a task of a sync runs, and no more: a worker that lacks one of them says so to the task that needs it."""
_LOOKS_EVERY = 15.0
"""Seconds. A daemon without a worker has had nothing to do for a minute already: so long Spark keeps a worker."""


def take_the_installed_pyspark(path: list[str]) -> None:
    """Spark puts its archives of sources in front, which Python compiles anew in each process: where they are an installed package's own, that is compiled already."""
    archives = [Path(entry) for entry in path if Path(entry).is_file()]
    packages = {parent for each in archives for parent in each.parents if (parent / "__init__.py").is_file()}
    installed = [package for package in packages if package.name == "pyspark" and str(package.parent) in path]
    path[:] = [entry for entry in path if not any(Path(entry).is_relative_to(package) for package in installed)]


def preload() -> None:
    """Import them; the collector then leaves alone what all workers share, so that it stays shared."""
    with gives_memory_back():
        for module in MODULES:
            with suppress(ImportError):
                importlib.import_module(module)
    from incremental_assets.adapters.spark.pandas_later import pandas_later

    pandas_later()
    gc.collect()
    gc.freeze()


def end_when_idle(seconds: float = _LOOKS_EVERY) -> None:
    """The engine starts a daemon for each session and forgets it when that ends, so that it has to end by itself; Spark starts another one where it was wrong."""
    had_none = False

    def look(*_: object) -> None:
        nonlocal had_none
        has_none = not Path(f"/proc/self/task/{os.getpid()}/children").read_text(encoding="ascii").strip()
        if has_none and had_none:
            signal.setitimer(signal.ITIMER_REAL, 0)
            os.kill(os.getpid(), signal.SIGTERM)  # which the daemon handles
        had_none = has_none

    signal.signal(signal.SIGALRM, look)
    # Not inherited by a worker.
    signal.setitimer(signal.ITIMER_REAL, seconds, seconds)


def run() -> None:
    """The daemon, until Spark ends it or nobody needs it."""
    from pyspark.daemon import manager

    end_when_idle()
    manager()


def _forked() -> int | None:
    from incremental_assets.adapters.fork_server.channel import WORKERS
    from incremental_assets.adapters.fork_server.client import handed_over

    folder = os.environ.get(FORKS)
    return handed_over(WORKERS, sys.argv[1:], Path(folder)) if folder else None


if __name__ == "__main__":
    code = _forked()
    if code is not None:
        sys.exit(code)
    take_the_installed_pyspark(sys.path)
    preload()
    run()
