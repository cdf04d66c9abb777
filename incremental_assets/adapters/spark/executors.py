"""What each executor of a cluster has and reaches, as a task on it says."""

from __future__ import annotations

import pickle
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from incremental_assets.adapters.lake_store.opened import Reached
from incremental_assets.adapters.spark.packages import lacking
from incremental_assets.adapters.spark.sending import expected, send

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SECONDS = 0.3
"""Which a task takes at least, so that the next one goes to an executor that is idle."""


@dataclass(frozen=True, slots=True)
class Executor:
    """`package`: the version of this package there, None where it is missing; with `sent`, in the archive of what it lacked. `lake` and `unreached`: why the lake, and addresses by the names of their sources, are not reached."""

    host: str
    python: str
    package: str | None
    seconds_off: float
    """By which its clock differs from that of the driver, at least."""
    lake: str = ""
    unreached: tuple[tuple[str, str], ...] = ()
    sent: tuple[str, ...] = ()
    """The packages that it lacked."""


@dataclass(frozen=True, slots=True)
class Asked:
    """`file`: put into the lake, with `content`; none where nothing but Spark reaches it. `addresses`: host and port of sources by their names."""

    file: str
    content: bytes
    addresses: Mapping[str, tuple[str, int]]
    store: Reached | None = None


def executors(session: SparkSession, asked: Asked) -> tuple[Executor, ...]:
    """One for each that is there. Raises what Spark raises where its workers have no Python, or another one."""
    context: Any = session.sparkContext
    # A cluster gives its executors with the first job.
    context.parallelize([0], 1).count()
    there = max(1, len(context._jsc.sc().statusTracker().getExecutorInfos()) - 1)
    tasks = 2 * max(there, int(context.defaultParallelism))
    found = _asked(context, tasks, asked, expected(session))
    if lacks := {name for each in found for name in each.sent}:
        send(session, lacks)
        found = tuple(replace(each, sent=tuple(sorted(lacks))) for each in _asked(context, tasks, asked, {}))
    return found


def _asked(context: Any, tasks: int, asked: Asked, packages: Mapping[str, str]) -> tuple[Executor, ...]:
    begun = time.time()
    told = context.parallelize(range(tasks), tasks).mapPartitions(_look(asked, packages)).collect()
    ended = time.time()
    found = {each["place"]: each for each in told}
    return tuple(_executor(each, begun, ended) for _, each in sorted(found.items()))


def _executor(told: Mapping[str, Any], begun: float, ended: float) -> Executor:
    off = max(0.0, begun - told["clock"], told["clock"] - ended)
    unreached, lacks = tuple(told["unreached"]), tuple(told["lacks"])
    return Executor(told["host"], told["python"], told["package"], off, told["lake"], unreached, lacks)


def _look(asked: Asked, packages: Mapping[str, str]) -> Any:
    file, content, addresses, seconds = asked.file, asked.content, dict(asked.addresses), _SECONDS
    # It holds secrets, and a worker without this package could not make it out.
    store, lacks = pickle.dumps(asked.store), lacking(packages)

    def look(_: Iterable[int]) -> Iterator[dict[str, Any]]:
        # Inside of it nothing of this package is named but where it may be missing: what a worker cannot import, it is sent.
        import importlib
        import os
        import pickle
        import platform
        import socket
        import time
        from importlib.metadata import version

        clock = time.time()
        try:
            importlib.import_module("incremental_assets.adapters.delta.tasks.matching.apply_task")
            package = version("incremental-assets")
        except ImportError:
            package = None
        lake, unreached = "", []
        try:
            if file and "://" not in file:
                with open(file, "rb") as found:  # noqa: PTH123 - of a worker's own Python
                    lake = "" if found.read() == content else "another file is there"
                mine = f"{file}-{os.getpid()}"
                with open(mine, "x"):  # noqa: PTH123
                    pass
                os.remove(mine)  # noqa: PTH107
            elif file and package is None:
                lake = "this package is not there, which alone would reach it"
            elif file:
                from incremental_assets.adapters.lake_store.opened import reach, store_of

                reach(pickle.loads(store))  # noqa: S301 - the driver's own
                place: Any = store_of(file)
                lake = "" if place.read(file) == content else "another file is there"
        except Exception as error:  # noqa: BLE001 - whatever it is, people read it
            lake = getattr(error, "strerror", None) or str(error)
        for name, (host, port) in addresses.items():
            try:
                socket.create_connection((host, port), timeout=5).close()
            except OSError as error:
                unreached.append((name, f"{host}:{port}: {error.strerror or error}"))
        time.sleep(seconds)
        yield {
            "host": socket.gethostname(),
            "place": f"{socket.gethostname()} {os.getcwd()}",  # noqa: PTH109
            "python": platform.python_version(),
            "package": package,
            "clock": clock,
            "lake": lake,
            "unreached": unreached,
            "lacks": lacks(),
        }

    return look
