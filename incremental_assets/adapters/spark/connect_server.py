"""The engine: one Spark Connect server per user and machine, which runs find and share. Start, stop, status."""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import psutil

from incremental_assets.adapters.process import ProcessIdentity
from incremental_assets.adapters.spark.java import require_java
from incremental_assets.adapters.spark.server_process import answering_port, end_process, scratch, spawn
from incremental_assets.adapters.spark.server_record import Announced, is_announced, read, withdraw, write
from incremental_assets.adapters.spark.session import (
    SparkSettings,
    Work,
    made_from,
    this_machine,
)
from incremental_assets.adapters.spark.session_provider import find_engine
from incremental_assets.adapters.spark.use import unused
from incremental_assets.adapters.spark.worker_daemon import FORKS
from incremental_assets.core.errors import EngineLost, SetupError

TOKEN_VARIABLE = "SPARK_CONNECT_AUTHENTICATE_TOKEN"  # noqa: S105 - a name
_STARTING = "starting"
"""A file that names the process until it is announced."""


@dataclass(frozen=True, slots=True)
class Health:
    """A running engine as it is now; `unusable` says why runs do without it."""

    engine: Announced
    resident: int
    """Bytes of memory."""
    unusable: str = ""
    ends: datetime | None = None
    """When it ends by itself if nobody uses it before then; None for one that stays, or is used now."""


def start(
    folder: Path, *, without: Collection[str] = (), keeper: str = "", idle: timedelta = timedelta(0)
) -> tuple[Announced, bool]:
    """The engine of a folder, and whether it was this call that started it. Raises SetupError.

    `without`: variables that it does not inherit, such as those that hold passwords. `keeper`: the process that will end it, as soon as it
    was not used for `idle` if that is given.
    """
    with _alone(folder):
        running = read(folder)
        if running is not None and not running.is_gone and not _is_in_the_way(folder, running):
            find_engine(folder)
            return _taken_over(folder, running, keeper, idle), False
        if running is not None and not running.is_gone:
            end_process(running.process)
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
        process = spawn(folder, machine, log, environment)
        try:
            (folder / _STARTING).write_text(ProcessIdentity.of(process.pid).text, encoding="utf-8")
            port = answering_port(process, log)
            engine = Announced(
                process=ProcessIdentity.of(process.pid),
                port=port,
                token=token,
                made_from=made_from(require_java()),
                spark=_version(),
                memory=machine.conf["spark.driver.memory"],
                since=since,
                log=str(log),
                keeper=keeper,
                idle=idle.total_seconds(),
            )
            write(folder, engine)
        except BaseException:
            process.kill()
            process.wait()
            shutil.rmtree(scratch(folder), ignore_errors=True)
            raise
        finally:
            (folder / _STARTING).unlink(missing_ok=True)
    return engine, True


def end_kept(folder: Path, engine: Announced, *, unless_used: bool = False) -> bool:
    """End a kept engine, unless it has become another's; whether that is done."""
    with _alone(folder):
        found = read(folder)
        if found is None or not engine.is_same(found) or found.keeper != engine.keeper:
            return True
        with unused(folder) as last:
            if unless_used and (last is None or datetime.now(UTC) < last + engine.patience):
                return False
            withdraw(folder)
        if not engine.is_gone:
            end_process(engine.process)
        _clear(folder)
    return True


def stop(folder: Path) -> Announced | None:
    """End the engine of a folder; None if there was none. Runs that are at work there go on in sessions of their own."""
    with _alone(folder):
        engine = read(folder)
        # First of all: a call that fails from now on can name the reason.
        withdraw(folder)
        if engine is not None and not engine.is_gone:
            end_process(engine.process)
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
    return Health(engine, resident, unusable, _end_of(folder, engine))


def _end_of(folder: Path, engine: Announced) -> datetime | None:
    if not engine.idle:
        return None
    with unused(folder) as last:
        return None if last is None else last + engine.patience


def _is_in_the_way(folder: Path, running: Announced) -> bool:
    """Whether it waits for runs of another kind than this process's, which have no part in it; from now on they find it no more."""
    if not running.idle or running.made_from == made_from(require_java()):
        return False
    with unused(folder) as last:
        if last is not None:
            withdraw(folder)
        return last is not None


def _taken_over(folder: Path, running: Announced, keeper: str, idle: timedelta) -> Announced:
    """A kept engine stays when it is asked to; and has another keeper if its own was killed."""
    if not running.idle or (idle and not running.is_left_alone):
        return running
    engine = replace(running, keeper=keeper, idle=idle.total_seconds())
    write(folder, engine)
    return engine


def _ask(folder: Path, engine: Announced) -> None:
    """Open and close a session as a run does. Raises EngineLost or SetupError."""
    from incremental_assets.adapters.spark import connect_client as remote

    remote.close(remote.open_remote(engine, partial(is_announced, folder, engine)))


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


def _clear(folder: Path) -> None:
    """What a killed engine leaves behind; and an engine whose start was killed, which no record names."""
    withdraw(folder)
    with suppress(FileNotFoundError, ValueError):
        left = ProcessIdentity.parse((folder / _STARTING).read_text(encoding="utf-8"))
        if left.started and left.machine == ProcessIdentity.here().machine and not left.is_gone:
            end_process(left)
    (folder / _STARTING).unlink(missing_ok=True)
    shutil.rmtree(scratch(folder), ignore_errors=True)
