"""`spark.python.daemon.module` on this machine: Spark's own daemon, which forks its workers, with all imported that our tasks need.

Each worker would import it for itself, as soon as it has its first task.
"""

from __future__ import annotations

import gc
import importlib
from contextlib import suppress

from pyspark.daemon import manager

from incremental_assets.adapters.spark.pandas_later import pandas_later

MODULES = (
    "pyspark.worker",
    "incremental_assets.adapters.spark.tasks",
    "incremental_assets.adapters.databases.postgresql.copy_part",
    "incremental_assets.adapters.delta.staging_task",
    "incremental_assets.adapters.delta.direct.apply_task",
    "incremental_assets.adapters.delta.direct.load_task",
)
"""What a task of a sync runs, and no more: a worker that lacks one of them says so to the task that needs it."""


def preload() -> None:
    """Import them; the collector then leaves alone what all workers share, so that it stays shared."""
    for module in MODULES:
        with suppress(ImportError):
            importlib.import_module(module)
    pandas_later()
    gc.collect()
    gc.freeze()


if __name__ == "__main__":
    preload()
    manager()
