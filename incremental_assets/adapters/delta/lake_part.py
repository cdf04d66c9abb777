"""What every part of the lake works with: its place, sessions, tasks and the source that it is compared with."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING

from incremental_assets.adapters.databases.dialect import Reader
from incremental_assets.adapters.delta.erased import LakeErasures
from incremental_assets.adapters.delta.ownership import Ownership
from incremental_assets.adapters.delta.site import Site
from incremental_assets.adapters.delta.storage import commit_lock
from incremental_assets.adapters.spark.tasks import Tasks
from incremental_assets.core.errors import NameRefused
from incremental_assets.core.model.paths import is_local
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.table_id import TableId

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession


CopyRows = Callable[[TableSpec, Sequence[str], "pa.Table | None"], "pa.Table"]
"""Some columns of a copy's rows: of those with these keys, or of all."""
Versions = Callable[[TableSpec, State, CopyRows], AbstractContextManager[str] | None]
"""The path of a file with all versions of rows by which a copy came to a state; None where it did not come there by its source's log."""


class LakePart:
    """`source` is what `compare` and `outdated` read."""

    versions: Versions | None = None
    """What a history of a table reads that is read from its source's log; None where none is."""

    def __init__(
        self,
        lake: str,
        session: Callable[[], SparkSession],
        source: Reader | None = None,
        tasks: Tasks | None = None,
        owner: Ownership | None = None,
    ) -> None:
        if is_local(lake) and "%" in lake:
            raise NameRefused(
                f"the lake {lake!r} cannot have a `%` in its path, which readers of Delta's log take for the beginning of a code; choose another folder"
            )
        self._lake, self._session, self._source = lake, session, source
        self._tasks, self._owner = tasks or Tasks(session, lake), owner or Ownership(lake)
        self.erasures = LakeErasures(lake)
        """Keys that were erased; without the secret key, a list of them is refused."""

    @contextmanager
    def _committing(self, spec: TableSpec, table: TableId | None = None) -> Iterator[None]:
        """One process at a time commits to a copy, or to another table of it, and that of the installation that owns it. Raises Busy, LakeRefused."""
        self._owner.check(spec.id)
        with commit_lock(self._lake, table or spec.id):
            yield

    def _site(self) -> Site:
        return Site(self._session(), self._tasks, self._lake)
