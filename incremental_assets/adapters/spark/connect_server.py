"""The engine: one Spark Connect server per user and machine, which runs find and share. Start, stop, status."""

from __future__ import annotations

import fcntl
import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from itertools import pairwise
from pathlib import Path

import psutil

from incremental_assets.adapters.permissions import strict
from incremental_assets.adapters.process import ProcessIdentity
from incremental_assets.adapters.spark.cds_archive import spark_home
from incremental_assets.adapters.spark.java import require_java
from incremental_assets.adapters.spark.server_record import Announced, is_announced, read, withdraw, write
from incremental_assets.adapters.spark.session import (
    Machine,
    SparkSettings,
    Work,
    made_from,
    temporary_in,
    this_machine,
)
from incremental_assets.adapters.spark.session_provider import find_engine
from incremental_assets.adapters.spark.worker_daemon import FORKS
from incremental_assets.core.errors import EngineLost, SetupError

SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"
TOKEN_VARIABLE = "SPARK_CONNECT_AUTHENTICATE_TOKEN"  # noqa: S105 - a name
_STARTING = "starting"
"""A file that names the process until it is announced."""
_READY_WITHIN = 120
"""Seconds; an idle machine takes four."""
_ENDS_WITHIN = 10
"""Seconds for Spark to remove its files, before it is made to end."""
_STARTED = re.compile(r"Spark Connect server started at: \S*:(\d+)")
_SERVED = {
    "spark.connect.grpc.binding.address": "127.0.0.1",
    # Any that is free; the log tells which one.
    "spark.connect.grpc.binding.port": "0",
    # What a killed run had begun is over before the next run can be there: two JVMs must not write one table of a local disk.
    "spark.connect.execute.manager.detachedTimeout": "2s",
    "spark.connect.execute.manager.maintenanceInterval": "1s",
    # On loopback no answer gets lost, so clients need not reattach for it.
    "spark.connect.execute.reattachable.senderMaxStreamDuration": "0",
    # A backfill may rest for hours between two parts.
    "spark.connect.session.manager.defaultSessionTimeout": "12h",
    # A whole collection, which is when memory is given back; Spark's own rhythm is half an hour.
    "spark.cleaner.periodicGC.interval": "1min",
    # What a page would show, and there is none.
    "spark.ui.retainedJobs": "20",
    "spark.ui.retainedStages": "20",
    "spark.ui.retainedTasks": "200",
    "spark.sql.ui.retainedExecutions": "5",
    "spark.sql.connect.ui.retainedStatements": "5",
    "spark.sql.connect.ui.retainedSessions": "5",
}


@dataclass(frozen=True, slots=True)
class Health:
    """A running engine as it is now; `unusable` says why runs do without it."""

    engine: Announced
    resident: int
    """Bytes of memory."""
    unusable: str = ""


def start(
    folder: Path, *, without: Collection[str] = (), keeper: ProcessIdentity | None = None
) -> tuple[Announced, bool]:
    """The engine of a folder, and whether it was this call that started it. Raises SetupError.

    `without`: variables that it does not inherit, such as those that hold passwords. `keeper`: the process that will end it.
    """
    with _alone(folder):
        running = read(folder)
        if running is not None and not running.is_gone:
            find_engine(folder)
            return running, False
        _clear(folder)
        token, log, since = secrets.token_urlsafe(32), folder / "engine.log", datetime.now(UTC)
        machine = this_machine(SparkSettings(work=Work.SERVE))
        environment = {name: value for name, value in os.environ.items() if name not in without}
        environment |= {
            **machine.environment,
            TOKEN_VARIABLE: token,
            "PYSPARK_PYTHON": sys.executable,
            FORKS: str(folder),
        }
        process = _spawn(folder, machine, log, environment)
        try:
            (folder / _STARTING).write_text(ProcessIdentity.of(process.pid).text, encoding="utf-8")
            port = _port(process, log)
            engine = Announced(
                process=ProcessIdentity.of(process.pid),
                port=port,
                token=token,
                made_from=made_from(require_java()),
                spark=_version(),
                memory=machine.conf["spark.driver.memory"],
                since=since,
                log=str(log),
                keeper=keeper.text if keeper else "",
            )
            write(folder, engine)
        except BaseException:
            process.kill()
            process.wait()
            raise
        finally:
            (folder / _STARTING).unlink(missing_ok=True)
    return engine, True


def stop(folder: Path) -> Announced | None:
    """End the engine of a folder; None if there was none. Runs that are at work there go on in sessions of their own."""
    with _alone(folder):
        engine = read(folder)
        # First of all: a call that fails from now on can name the reason.
        withdraw(folder)
        if engine is not None and not engine.is_gone:
            _end(engine.process)
        _clear(folder)
    return engine


def look(folder: Path) -> Health | None:
    """The running engine; None if there is none, or one that has ended."""
    engine = read(folder)
    if engine is None or engine.is_gone:
        return None
    try:
        find_engine(folder)
        _ask(folder, engine)
        unusable = ""
    except (SetupError, EngineLost) as error:
        unusable = str(error)
    try:
        resident = psutil.Process(engine.process.pid).memory_info().rss
    except psutil.NoSuchProcess:  # it has ended since
        return None
    return Health(engine, resident, unusable)


def _ask(folder: Path, engine: Announced) -> None:
    """As a run does. Raises EngineLost or SetupError."""
    from incremental_assets.adapters.spark import connect_client as remote

    remote.close(remote.open_remote(engine, partial(is_announced, folder, engine)))


# --- the process ----------------------------------------------------------------------------------------


def _spawn(folder: Path, machine: Machine, log: Path, environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """In a session of its own, so that a Ctrl-C is not for it. The token is in its environment, which only its user can read."""
    _scratch(folder).mkdir(mode=0o700)
    conf = {**machine.conf, **_SERVED, "spark.local.dir": str(_scratch(folder))}
    # Out of memory is logged once and ends it; a run that used it then continues in its own session.
    conf["spark.driver.extraJavaOptions"] += f" -XX:+ExitOnOutOfMemoryError {temporary_in(_scratch(folder))}"
    settings = [word for name, value in conf.items() for word in ("--conf", f"{name}={value}")]
    program = spark_home() / "bin" / "spark-submit"
    command = [str(program), "--class", SERVER, "--name", "incremental-assets", "--master", machine.master, *settings]
    inherited = {name: value for name, value in environment.items() if name not in _OF_CLIENTS}
    with os.fdopen(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as output:
        return subprocess.Popen(
            [*command, "spark-internal"],
            cwd=folder,
            env=inherited,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            umask=strict(),
        )


_OF_CLIENTS = ("SPARK_REMOTE", "SPARK_CONNECT_MODE_ENABLED", "SPARK_API_MODE", "SPARK_CONNECT_MODE")
"""Variables that tell a process to use a server, which is no advice for the server."""


def _port(process: subprocess.Popen[bytes], log: Path) -> int:
    """Where it answers, once it does."""
    deadline = time.monotonic() + _READY_WITHIN
    while time.monotonic() < deadline:
        output = log.read_text(encoding="utf-8", errors="replace")
        if found := _STARTED.search(output):
            return int(found[1])
        if process.poll() is not None:
            output = log.read_text(encoding="utf-8", errors="replace")
            raise SetupError(f"the engine ended while it started ({_reason(output)}); its log is {log}")
        time.sleep(0.05)
    raise SetupError(f"the engine did not answer within {_READY_WITHIN} seconds and was ended; its log is {log}")


_NO_JVM = "Error: Could not create the Java Virtual Machine."
"""What a JVM says after it has named the fault."""


def _reason(output: str) -> str:
    """The line that names the fault, of a log that was read after its process had ended."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    named = [before for before, line in pairwise(lines) if line == _NO_JVM]
    named += [line for line in lines if "Exception" in line or "Error" in line]
    return (named or lines[-1:] or ["it said nothing"])[0]


def _end(owner: ProcessIdentity) -> None:
    """SIGTERM, then SIGKILL. The parent may be alive and not have reaped it yet, so that its pid stays for a while."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.kill(owner.pid, number)
        deadline = time.monotonic() + _ENDS_WITHIN
        while time.monotonic() < deadline:
            if owner.is_gone:
                return
            time.sleep(0.05)
    raise SetupError(
        f"the engine (pid {owner.pid}) does not stop, not even by force; find out what its process is waiting for"
    )


def _version() -> str:
    from pyspark.version import __version__

    return str(__version__)


# --- its folder -----------------------------------------------------------------------------------------


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Two calls at once would start two. Raises SetupError where there can be no such folder."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = (folder / "engine.lock").open("a", encoding="utf-8")
    except OSError as error:
        raise SetupError(
            f"the engine needs the folder {folder}, which cannot be used ({error.strerror}); fix its permissions, or point DAGSTER_HOME elsewhere"
        ) from None
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _scratch(folder: Path) -> Path:
    return folder / "scratch"


def _clear(folder: Path) -> None:
    """What a killed engine leaves behind; and an engine whose start was killed, which no record names."""
    withdraw(folder)
    with suppress(FileNotFoundError, ValueError):
        left = ProcessIdentity.parse((folder / _STARTING).read_text(encoding="utf-8"))
        if left.started and left.machine == ProcessIdentity.here().machine and not left.is_gone:
            _end(left)
    (folder / _STARTING).unlink(missing_ok=True)
    shutil.rmtree(_scratch(folder), ignore_errors=True)
