"""The Spark session of this process: opened at its first real use, once, and handed down from here."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from dagster import ConfigurableResource
from pydantic import Field

from incremental_assets.resources.session import session_of

if TYPE_CHECKING:
    from dagster_pyspark import LazyPySparkResource
    from pyspark.sql import SparkSession

    from incremental_assets.adapters.spark.session import Work
    from incremental_assets.adapters.spark.session_provider import Session
    from incremental_assets.core.errors import EngineLost


class SparkResource(ConfigurableResource):
    """Where sessions come from: `remote` is `auto` (the engine of this machine when one runs, else a session of this process's own) or
    `sc://…`; a `master` such as `spark://…`, `k8s://…` or `yarn` goes before it. With settings of one's own the session is one's own, too.
    """

    remote: str = "auto"
    master: str | None = None
    memory: str | None = None
    """Heap of the driver on this machine, such as `4g`."""
    conf: dict[str, str] = Field(default_factory=dict)
    """More settings of Spark, which win over ours."""
    own: bool = False
    """Whether an engine that runs is left alone all the same."""
    keep: float | None = None
    """Seconds without use after which an engine ends that is started where none runs; without it none is started."""
    secrets: list[str] = Field(default_factory=list)
    """Environment variables that such an engine does not inherit."""

    def session(self, work: Work | None = None) -> SparkSession:
        """The session, opened by the first thread that asks, for the work that it has in mind."""
        return self._door()(work)

    def lazy(self) -> LazyPySparkResource:
        """The same session in the form of `dagster_pyspark`, for your own assets that use it."""
        from dagster_pyspark import LazyPySparkResource

        from incremental_assets.adapters.spark.lazy_session import whole

        lazy = LazyPySparkResource(spark_config={})
        # Given rather than configured: the builder there would start a JVM without our jars and settings.
        lazy._spark_session = whole(self.session())
        return lazy

    @property
    def is_open(self) -> bool:
        """Whether a session has been needed so far."""
        return self._door().is_open

    @property
    def lost(self) -> EngineLost | None:
        """The engine that the session was of until it ended."""
        return self._door().lost

    def close(self) -> None:
        """Stop the session if there is one."""
        self._door().close()

    def _door(self) -> Session:
        from incremental_assets.adapters.spark.kept import Keep
        from incremental_assets.adapters.spark.session import SparkSettings

        keep = None if self.keep is None else Keep(timedelta(seconds=self.keep), tuple(self.secrets))
        given = SparkSettings(self.remote, self.master, memory=self.memory, conf=tuple(sorted(self.conf.items())))
        return session_of(given, own=self.own, keep=keep)
