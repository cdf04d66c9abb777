"""A run's connection to the engine: its own session there, which can tell that the engine has ended from a server that does not answer."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, cast

# Read by gRPC as it is imported. What it does to every fork of a process that has a channel kills one in seven before it can become another program,
# as a child does that is to run as another user (`user=` of subprocess); and whoever forks here asks nothing of gRPC.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")

import grpc
from pyspark.errors.exceptions.connect import SparkConnectGrpcException
from pyspark.sql.connect.client import ChannelBuilder
from pyspark.sql.connect.session import SparkSession as ConnectSession

from incremental_assets.adapters.spark.server_record import Announced
from incremental_assets.core.errors import EngineLost, SetupError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_MODE = "SPARK_CONNECT_MODE_ENABLED"
"""The variable by which pyspark's functions know which kind of session they build for."""
_RELEASE = "SPARK_CONNECT_RELEASE_SESSION_ON_EXIT"
_ANSWERS_WITHIN = 10
"""Seconds; a living engine is there in a few milliseconds, a stopped process takes connections and says nothing."""
_RUNS_WITHIN = 10
"""Seconds for the smallest of jobs. One that takes longer waits for others to end, as it fails at once where nothing can run."""


def open_remote(engine: Announced, is_there: Callable[[], bool]) -> SparkSession:
    """A new session of the engine's, apart from every other one; raises EngineLost where it does not answer, SetupError where it runs nothing.

    `is_there`: whether the engine is still meant to be used. Asked when a call fails, and then turns the failure into EngineLost.
    """
    os.environ[_MODE] = "1"
    # A run of Dagster's ends its process without closing anything.
    os.environ[_RELEASE] = "true"
    try:
        channel: Any = _Channel(engine, is_there)
        session = cast("SparkSession", ConnectSession.builder.channelBuilder(channel).create())
    except BaseException:
        del os.environ[_MODE]
        raise
    try:
        _require_executor(session, engine)
    except BaseException:
        leave(session)
        raise
    return session


def _require_executor(session: SparkSession, engine: Announced) -> None:
    """An engine can answer, and plan queries, whose executor has ended: a job of one row goes all the way."""
    failed: list[Exception] = []

    def ask() -> None:
        try:
            session.range(0, 1, 1, 1).collect()
        except Exception as error:  # noqa: BLE001 - judged below
            failed.append(error)

    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    asking.join(_RUNS_WITHIN)
    if failed and (isinstance(failed[0], EngineLost) or _is_turned_away(failed[0])):
        raise failed[0]
    if failed:
        raise SetupError(
            f"the engine (pid {engine.process.pid}) is not used, because it answers but runs no job: its executor has ended; start it again with "
            f"`incremental-assets engine stop` and `incremental-assets engine start`, its log is {engine.log}"
        ) from None


def _is_turned_away(error: Exception) -> bool:
    return isinstance(error, SparkConnectGrpcException) and error.getGrpcStatusCode() is grpc.StatusCode.UNAUTHENTICATED


def leave(session: SparkSession) -> None:
    """Let go of a session whose engine is gone, so that this process may open one of another kind."""
    gone: Any = session
    gone.release_session_on_close = False
    gone.stop()
    os.environ.pop(_MODE, None)


def close(session: SparkSession) -> None:
    """End a session of a living engine."""
    session.stop()
    os.environ.pop(_MODE, None)


class _Channel(ChannelBuilder):
    """Builds a channel to this machine that sends the token: pyspark's own builder would demand TLS, or a host that is called `localhost`."""

    def __init__(self, engine: Announced, is_there: Callable[[], bool]) -> None:
        # The same for every holder of the token: the session keeps runs apart.
        super().__init__(params={ChannelBuilder.PARAM_USER_ID: "incremental-assets"})
        self._engine = engine
        self.add_interceptor(_Watch(engine, is_there))

    @property
    def host(self) -> str:
        """This machine."""
        return "127.0.0.1"

    def toChannel(self) -> grpc.Channel:  # noqa: N802 - pyspark's name
        """A channel on which the engine has answered."""
        credentials = grpc.composite_channel_credentials(
            grpc.local_channel_credentials(), grpc.access_token_call_credentials(self._engine.token)
        )
        channel = self._secure_channel(f"{self.host}:{self._engine.port}", credentials)
        try:
            grpc.channel_ready_future(channel).result(timeout=_ANSWERS_WITHIN)
        except grpc.FutureTimeoutError:
            channel.close()
            raise EngineLost(self._engine.process.pid, self._engine.log) from None
        return channel


class _Watch(grpc.UnaryUnaryClientInterceptor, grpc.UnaryStreamClientInterceptor, grpc.StreamUnaryClientInterceptor):
    """Fails a call with EngineLost once the engine is gone: pyspark would go on calling it for ten minutes.

    Checked before each call, too: a process that takes the port of an ended engine would receive the token and the sources' passwords.
    """

    def __init__(self, engine: Announced, is_there: Callable[[], bool]) -> None:
        self._engine, self._is_there = engine, is_there

    def intercept_unary_unary(self, continuation: Any, details: Any, request: Any) -> Any:
        """A question with one answer."""
        self._raise_if_lost()
        return self._judged(continuation(details, request))

    def intercept_stream_unary(self, continuation: Any, details: Any, requests: Any) -> Any:
        """An upload."""
        self._raise_if_lost()
        return self._judged(continuation(details, requests))

    def intercept_unary_stream(self, continuation: Any, details: Any, request: Any) -> Any:
        """A query."""
        self._raise_if_lost()
        return self._each(continuation(details, request))

    def _judged(self, outcome: Any) -> Any:
        if isinstance(outcome, grpc.RpcError):
            self._raise_if_lost()
        return outcome

    def _each(self, answers: Any) -> Iterator[Any]:
        try:
            yield from answers
        except grpc.RpcError:
            self._raise_if_lost()
            raise

    def _raise_if_lost(self) -> None:
        if not self._is_there():
            raise EngineLost(self._engine.process.pid, self._engine.log) from None
