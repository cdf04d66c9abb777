"""A session of this process gives its context to tasks, and begins SQL for whoever asks for more."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, cast

import pytest

from incremental_assets.adapters.spark.lazy_session import LazySession, whole
from incremental_assets.adapters.spark.tasks import Tasks
from tests.adapters.test_tasks import Number

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class WithoutSql(LazySession):
    """Fails whoever asks for more than the context."""

    @property
    def whole(self) -> SparkSession:
        raise AssertionError("SQL was asked for")


class Context:
    """One that notes its end."""

    stopped = 0

    def stop(self) -> None:
        self.stopped += 1


def test_a_job_of_tasks_begins_no_sql(spark: SparkSession) -> None:
    session = cast("SparkSession", WithoutSql(spark.sparkContext, {}))
    assert Tasks(lambda: session).run_all("tests.adapters.test_tasks", [Number(1), Number(2), Number(3)]) == [2, 4, 6]
    with pytest.raises(AssertionError, match="SQL was asked for"):
        session.range(1)


def test_threads_that_ask_for_sql_at_once_get_the_same_session(spark: SparkSession) -> None:
    session = LazySession(spark.sparkContext, {"spark.sql.session.timeZone": "UTC"})
    with ThreadPoolExecutor(4) as pool:
        found = set(pool.map(lambda _: session.whole, range(4)))
    assert len(found) == 1
    assert whole(session) in found
    assert session.sql("SELECT 1 AS one").first() == (1,)


def test_one_that_never_began_sql_stops_its_context() -> None:
    context: Any = Context()
    LazySession(context, {}).stop()
    assert context.stopped == 1


def test_the_end_of_a_session_does_not_wait_for_the_thread_that_took_its_counts() -> None:
    session_ended, counters_ended = threading.Event(), threading.Event()

    class Counters:
        def shutdown(self) -> None:
            assert session_ended.wait(60), "the session waits for it"
            counters_ended.set()

    class WithCounters(Context):
        """Ends what it still knows, as PySpark's own context does."""

        _accumulatorServer: Counters | None = Counters()  # noqa: N815 - as PySpark names it

        def stop(self) -> None:
            if self._accumulatorServer is not None:
                self._accumulatorServer.shutdown()
            super().stop()

    context = WithCounters()
    LazySession(cast("Any", context), {}).stop()
    assert context.stopped == 1
    session_ended.set()
    assert counters_ended.wait(60)
