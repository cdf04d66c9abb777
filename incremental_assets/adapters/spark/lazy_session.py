"""A session of this process whose SQL begins when it is first asked for: tasks need none, and it takes the JVM two CPU seconds to load."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from incremental_assets.core.concurrency.background import in_background

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession


def whole(session: object) -> SparkSession:
    """What code of others may be given, which asks for the class."""
    return cast("SparkSession", session.whole if isinstance(session, LazySession) else session)


class LazySession:
    """Does for ours what a `SparkSession` does."""

    def __init__(self, context: SparkContext, conf: Mapping[str, str]) -> None:
        self.sparkContext = context
        self._conf: dict[str, bool | float | int | str | None] = dict(conf)
        self._lock = threading.Lock()
        self._whole: SparkSession | None = None

    @property
    def whole(self) -> SparkSession:
        """The session itself, made on this context."""
        with self._lock:
            if self._whole is None:
                from pyspark.sql import SparkSession

                self._whole = SparkSession.builder.config(map=dict(self._conf)).getOrCreate()
            return self._whole

    @property
    def settings(self) -> Mapping[str, str]:
        """The session's settings by name, as they are now."""
        with self._lock:
            begun: Any = self._whole
            return begun.conf.getAll if begun else dict(self.sparkContext.getConf().getAll())

    def stop(self) -> None:
        """Stop as much of the session as has begun."""
        context: Any = self.sparkContext
        with self._lock:
            # It hears of its end within half a second, for which nothing has to wait.
            counters, context._accumulatorServer = getattr(context, "_accumulatorServer", None), None
            (self._whole or context).stop()
        if counters is not None:
            in_background(counters.shutdown)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.whole, name)
