"""What every part of the lake works with: its place, sessions, tasks and the source that it is compared with."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from incremental_assets.adapters.databases.dialect import Reader
from incremental_assets.adapters.delta.site import Site
from incremental_assets.adapters.spark.tasks import Tasks
from incremental_assets.core.errors import NameRefused
from incremental_assets.core.model.paths import is_local

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class LakePart:
    """`source` is what `compare` and `outdated` read."""

    def __init__(
        self,
        lake: str,
        session: Callable[[], SparkSession],
        source: Reader | None = None,
        tasks: Tasks | None = None,
    ) -> None:
        if is_local(lake) and "%" in lake:
            raise NameRefused(
                f"the lake {lake!r} cannot have a `%` in its path, which readers of Delta's log take for the beginning of a code; choose another folder"
            )
        self._lake, self._session, self._source = lake, session, source
        self._tasks = tasks or Tasks(session)

    def _site(self) -> Site:
        return Site(self._session(), self._tasks, self._lake)
