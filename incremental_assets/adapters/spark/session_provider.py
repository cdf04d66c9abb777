"""The session of a process: the engine's if one is recorded, else its own; opened once, when it is first needed."""

from __future__ import annotations

import logging
import sys
import threading
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from incremental_assets.adapters.spark import jvm
from incremental_assets.adapters.spark import session as own
from incremental_assets.adapters.spark.java import require_java
from incremental_assets.adapters.spark.kept import Keep, ask_for_engine
from incremental_assets.adapters.spark.server_record import Announced, is_announced, read
from incremental_assets.adapters.spark.session import SparkSettings, Work, made_from
from incremental_assets.adapters.spark.use import Use
from incremental_assets.core.concurrency.interruption import this_process
from incremental_assets.core.errors import EngineLost, SetupError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

log = logging.getLogger(__name__)

_PATIENCE = 1.0
"""Seconds. An interrupted process does not wait for a session that is being opened, which takes minutes if a cluster is silent."""


class Session:
    """Opens Spark at the first call, once, and hands out the same session to every thread after that.

    `engines`: the folder where an engine may be announced, which is then used; should it end, the next call opens a session of this
    process's own. `keep`: where none is announced there, one is started that waits for the next process.
    """

    def __init__(
        self, settings: SparkSettings | None = None, engines: Path | None = None, keep: Keep | None = None
    ) -> None:
        self._settings, self._engines, self._keep = settings or SparkSettings(), engines, keep
        self._lock = threading.Lock()
        self._session: SparkSession | None = None
        self._engine: Announced | None = None
        self._use: Use | None = None
        self._lost: EngineLost | None = None

    def __call__(self, work: Work | None = None) -> SparkSession:
        """The session; `work` counts for the call that opens it. Raises SetupError where Java or a jar is missing."""
        with self._lock:
            if self._session is not None and self._engine is not None and not self._is_there(self._engine):
                self._let_go(self._session, self._engine)
            if self._session is None:
                self._session = self._of_engine()
            if self._session is None:
                # A starting JVM cannot be interrupted, and the thread that waits for it holds a lease.
                with this_process.cancelling(jvm.end):
                    self._session = own.open_session(replace(self._settings, work=work or self._settings.work))
            this_process.remove(self._cancel)
            this_process.add(self._cancel)
            return self._session

    @property
    def is_open(self) -> bool:
        """Whether anything needed Spark so far."""
        return self._session is not None

    @property
    def lost(self) -> EngineLost | None:
        """The engine that was used until it ended."""
        return self._lost

    def close(self) -> None:
        """Stop what was opened, if anything was; an engine keeps running. What another thread is still opening ends with the process."""
        this_process.remove(self._cancel)
        if not self._lock.acquire(timeout=_PATIENCE):
            return
        try:
            if self._session is not None and self._engine is not None:
                from incremental_assets.adapters.spark import connect_client as remote

                remote.close(self._session)
                self._end_use()
            elif self._session is not None:
                _stop(self._session)
            self._session = self._engine = None
        finally:
            self._lock.release()

    def _cancel(self) -> None:
        """End whatever is at work in the session, which stays."""
        session = self._session
        if session is None:
            return
        if own.is_remote(session):
            session.interruptAll()
        else:
            session.sparkContext.cancelAllJobs()

    def _of_engine(self) -> SparkSession | None:
        """A session of the engine, if there is one that this process can use; if not, the reason is logged."""
        if self._engines is None or _has_jvm():
            return None
        try:
            engine = self._found(self._engines)
            if engine is None:
                return None
            from incremental_assets.adapters.spark import connect_client as remote

            session = remote.open_remote(engine, partial(self._is_there, engine))
        except (SetupError, EngineLost) as error:
            log.warning("%s; this run opens its own session", error)
            self._end_use()
            return None
        own.quieten()
        self._engine = engine
        return session

    def _found(self, folder: Path) -> Announced | None:
        """The engine to use, which is left behind where there was none. Raises SetupError for one that will not do."""
        if self._keep is None:
            return self._taken(folder)
        try:
            engine = self._taken(folder)
        except SetupError:
            engine = None  # it may make way for another one; if not, who is asked for that says why
        if engine is not None and not (engine.idle and engine.is_left_alone):
            return engine
        self._end_use()
        with ask_for_engine(folder, self._keep):
            return self._taken(folder)

    def _taken(self, folder: Path) -> Announced | None:
        """The engine that is there; one that is kept does not end before the use of it."""
        engine = find_engine(folder)
        if engine is None or not engine.idle:
            return engine
        self._use = Use(folder)
        # It may have ended before that.
        if self._is_there(engine):
            return engine
        self._end_use()
        return None

    def _end_use(self) -> None:
        if self._use is not None:
            self._use.end()
        self._use = None

    def _let_go(self, session: SparkSession, engine: Announced) -> None:
        from incremental_assets.adapters.spark import connect_client as remote

        log.warning("the engine (pid %s) has ended; this run continues in its own session", engine.process.pid)
        # Before the kind of sessions changes: threads that hold a DataFrame of this one then meet errors of any type.
        self._lost = EngineLost(engine.process.pid, engine.log)
        remote.leave(session)
        self._end_use()
        # Not searched again: a process that has had its own JVM stays with it.
        self._session = self._engine = self._engines = None

    def _is_there(self, engine: Announced) -> bool:
        return self._engines is not None and is_announced(self._engines, engine)


def find_engine(folder: Path) -> Announced | None:
    """The engine that runs of this process's kind may use; None where none was announced. Raises SetupError for one that will not do."""
    engine = read(folder)
    if engine is None:
        return None
    called = f"the engine (pid {engine.process.pid})"
    if engine.is_gone:
        raise SetupError(
            f"{called} has ended by itself, its last messages are in {engine.log}; `incremental-assets engine start` starts another one, "
            "`incremental-assets engine stop` forgets it"
        )
    if engine.made_from != made_from(require_java()):
        raise SetupError(
            f"{called} is not used, as it was started with another Java, another Spark, other jars or by another release; restart it with "
            "`incremental-assets engine stop` and `incremental-assets engine start`"
        )
    return engine


def _stop(session: SparkSession) -> None:
    """What has ended need not be stopped; the call that failed has reported why."""
    try:
        session.stop()
    except Exception as error:
        if not jvm.is_gone(error):
            raise


def _has_jvm() -> bool:
    """Whether Spark runs in this process already, which then has no way to another one."""
    core = sys.modules.get("pyspark.core.context")
    return core is not None and core.SparkContext._active_spark_context is not None
