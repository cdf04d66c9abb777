"""The Spark session of this process: opened at its first real use, once, and handed down from here."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from dagster import ConfigurableResource

if TYPE_CHECKING:
    from dagster_pyspark import LazyPySparkResource
    from pyspark.sql import SparkSession

_lock = threading.Lock()
_opened: dict[tuple[str, str | None], SparkSession] = {}
"""Per process and not per resource: Dagster copies a resource for each run, and a JVM holds one session's settings."""


class SparkResource(ConfigurableResource):
    """Where sessions come from: `remote` is `auto` or `sc://…`; a `master` such as `spark://…`, `k8s://…` or `yarn` goes before it."""

    remote: str = "auto"
    master: str | None = None

    def session(self) -> SparkSession:
        """The session, opened by the first thread that asks."""
        from incremental_assets.engine.session import open_session

        with _lock:
            terms = (self.remote, self.master)
            if terms not in _opened:
                _opened[terms] = open_session(remote=self.remote, master=self.master)
            return _opened[terms]

    def lazy(self) -> LazyPySparkResource:
        """The same session as `dagster_pyspark` hands it out, for assets of one's own that were written for it."""
        from dagster_pyspark import LazyPySparkResource

        lazy = LazyPySparkResource(spark_config={})
        # Given rather than configured: the builder there would start a JVM without our jars and settings.
        lazy._spark_session = self.session()
        return lazy

    @property
    def is_open(self) -> bool:
        """Whether a session has been needed so far."""
        return (self.remote, self.master) in _opened

    def close(self) -> None:
        """Stop the session if there is one."""
        with _lock:
            session = _opened.pop((self.remote, self.master), None)
        if session is not None:
            session.stop()
