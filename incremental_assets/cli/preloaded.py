"""`python -m incremental_assets.cli.preloaded FOLDER`: the process that `engine start` leaves behind, with all imported that a command, a run or a Spark task needs.

Nothing is called beforehand: a fork differs from a process of its own in time alone.
"""

from __future__ import annotations

import gc
import importlib
import pkgutil
import sys
from contextlib import suppress
from pathlib import Path

from incremental_assets.adapters.databases.registry import dialect_of
from incremental_assets.adapters.fork_server import runs
from incremental_assets.adapters.fork_server.channel import COMMAND, RUN, WORKERS, fingerprint
from incremental_assets.adapters.fork_server.server import become, end_with_caller, serve
from incremental_assets.adapters.spark import worker_daemon
from incremental_assets.adapters.spark.arrow_pool import gives_memory_back
from incremental_assets.adapters.telemetry.opening import is_asked_for
from incremental_assets.cli.main import main
from incremental_assets.core.config.dialects import BUILT_IN
from incremental_assets.core.errors import IncrementalAssetsError
from incremental_assets.resources.migrations import of_dagster

MODULES = (
    "incremental_assets.cli.commands.backfill",
    "incremental_assets.cli.commands.check",
    "incremental_assets.cli.commands.plan",
    "incremental_assets.cli.commands.sync",
    "incremental_assets.cli.dagster_runs",
    "incremental_assets.cli.progress",
    "incremental_assets.cli.render",
    "incremental_assets.adapters.checkpoints.store",
    "incremental_assets.adapters.contracts.judge",
    "incremental_assets.adapters.databases.probe",
    "incremental_assets.adapters.delta.land",
    "incremental_assets.adapters.delta.lake",
    "incremental_assets.adapters.delta.staging.stage",
    "incremental_assets.adapters.delta.writers.choice",
    "incremental_assets.adapters.spark.connect_client",
    "incremental_assets.adapters.spark.session_provider",
    "incremental_assets.adapters.spark.tasks",
    "incremental_assets.core.landing.rewrite",
    "incremental_assets.definitions",
    "incremental_assets.resources.event_log",
    "incremental_assets.resources.runtime",
    "incremental_assets.resources.spark",
    "dagster._cli",
    "dagster._core.execution.execute_in_process",
    "dagster._core.execution.plan.active",
    "dagster._core.executor.in_process",
    "dagster._core.instance.factory",
    "dagster._core.instance.runs.run_domain",
    "dagster._core.storage.event_log.sqlite",
    "dagster._core.storage.legacy_storage",
    "dagster._core.storage.local_compute_log_manager",
    "dagster._core.storage.root",
    "dagster._grpc.impl",
    "encodings.ascii",
    "encodings.idna",
    "fsspec",
    "grpc._channel",
    "multiprocessing.spawn",
    "pyspark.sql.connect.session",
    "rich.table",
    "sqlalchemy.dialects.sqlite",
    "upath",
    "upath.core",
    "upath.implementations.local",
    "watchdog.observers.polling",
)
"""A name that a later release of a library has no more is left out: the command then imports what it needs itself."""
TRACES = (
    "incremental_assets.adapters.telemetry.tracing",
    "opentelemetry.exporter.otlp.proto.http.trace_exporter",
    "opentelemetry.sdk.resources",
    "opentelemetry.sdk.trace.export",
)
"""Where the environment asks for traces: a tenth of a second of each run."""


def preload() -> None:
    """Import them; the collector then leaves alone what all forks share, so that it stays shared."""
    with gives_memory_back():
        for module in (*MODULES, *worker_daemon.MODULES, *(TRACES if is_asked_for() else ())):
            with suppress(ImportError):
                importlib.import_module(module)
    for name in BUILT_IN:
        # One whose driver is not installed says so to the command that needs it.
        with suppress(IncrementalAssetsError, ImportError):
            dialect_of(name)
            for found in pkgutil.walk_packages(*_inside(name)):
                importlib.import_module(found.name)
    of_dagster()  # which imports its migrations
    gc.collect()
    gc.freeze()


def _inside(database: str) -> tuple[list[str], str]:
    """The folder of a database, and how the names of its modules begin."""
    package = importlib.import_module(f"incremental_assets.adapters.databases.{database}")
    return list(package.__path__), f"{package.__name__}."


if __name__ == "__main__":
    # Before the imports: a file that is changed while they run makes this process a stranger to the commands that come.
    mine = {fingerprint(COMMAND), fingerprint(WORKERS), fingerprint(RUN)}
    preload()
    # A fork comes back from here as well, and runs its program outside of everything that the server is in the middle of.
    accepted = serve(Path(sys.argv[1]), mine)
    if accepted is not None:
        arguments = become(accepted)
        if accepted.request.program == WORKERS:
            worker_daemon.run()
        else:
            end_with_caller(accepted)
            (runs.run if accepted.request.program == RUN else main)(arguments)
