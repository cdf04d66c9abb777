"""Rows of a copy that are counted, hashed, and compared with the source."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from incremental_assets.adapters.databases.dialect import Reader
from incremental_assets.adapters.databases.measure import readable_parts
from incremental_assets.adapters.databases.spark_source import one_reader
from incremental_assets.adapters.delta import plane
from incremental_assets.adapters.delta.errors import explained
from incremental_assets.adapters.delta.lake_part import LakePart
from incremental_assets.adapters.delta.log import log_cache
from incremental_assets.adapters.delta.log.transaction_log import open_log
from incremental_assets.core.errors import TargetChanged
from incremental_assets.core.model.cursor import CursorValue
from incremental_assets.core.model.key_parts import KeyParts
from incremental_assets.core.model.measure import Comparison, Counting, Duplicates, Measure, Outdated, RowHash
from incremental_assets.core.model.paths import quarantine_path, table_path
from incremental_assets.core.model.row_difference import RowDifference
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.window import Window
from incremental_assets.core.ports import CopyKeys, PlacedRows

if TYPE_CHECKING:
    from incremental_assets.adapters.delta.audit.checksums import Held


class LakeAudit(LakePart):
    """Implements `core.ports.LakeAuditor`, `core.ports.LakeKeys` and `core.ports.LakeRows`."""

    def measure(self, spec: TableSpec, windows: Sequence[Window], by: RowHash = RowHash.TEXT) -> Counting:
        """Rows and hash of each window at the version of now; of an append with a key, the latest version of each row."""
        path = table_path(self._lake, spec.id)
        log = open_log(path)
        if log is None:
            return Counting(by, lambda: tuple(Measure(window, 0, "0", by) for window in windows))
        session = self._session()
        from incremental_assets.adapters.delta.audit import checksums
        from incremental_assets.adapters.delta.tasks.audit import measuring
        from incremental_assets.adapters.delta.tasks.audit.repeating import may_repeat

        def by_spark() -> tuple[Measure, ...]:
            with explained(spec.id, self._lake):
                return checksums.measure(checksums.Held(session, path, log, spec), windows)

        def by_tasks() -> tuple[Measure, ...]:
            with explained(spec.id, self._lake):
                return measuring.measured(self._tasks, units or [], windows, by)

        def known() -> list[Any]:
            measuring.check_versions(spec, lambda: may_repeat(self._tasks, path, log, spec))
            return measuring.units_of(path, log, spec, windows, by)

        with explained(spec.id, self._lake):
            units = plane.known(known)
        if units is None:
            return Counting(RowHash.TEXT, by_spark)
        return Counting(by, lambda: plane.read(f"{spec.id}: its rows are counted", by_tasks, by_spark).result)

    def lowest(self, spec: TableSpec) -> CursorValue | None:
        """The lowest cursor of the target's rows as its log tells it, without Spark; None where it does not tell, or only Spark can reach it."""
        path = table_path(self._lake, spec.id)
        from incremental_assets.adapters.delta.tasks.audit.lowest import lowest

        seen = plane.known(lambda: log_cache.latest(path))
        return None if seen is None else plane.known(lambda: lowest(spec, seen.state))

    def compare(self, spec: TableSpec, windows: Sequence[Window], places: KeyParts | None = None) -> Comparison:
        """Row by row, both sides, for windows whose measures differ, or of them the rows alone whose keys lie at some places."""
        held, source = self._held_and_source(spec)
        from incremental_assets.adapters.delta.audit import checksums

        with explained(spec.id, self._lake), one_reader(source, spec.id):
            return checksums.compare(held, windows, source, places)

    def differing_rows(
        self, spec: TableSpec, windows: Sequence[Window], places: KeyParts | None, most: int
    ) -> tuple[RowDifference, ...]:
        """The values of both sides of rows that differ, by key; of some windows, or of them the rows alone whose keys lie at some places."""
        held, source = self._held_and_source(spec)
        from incremental_assets.adapters.delta.audit.differing_rows import differing_rows

        with explained(spec.id, self._lake), one_reader(source, spec.id):
            return differing_rows(held, windows, source, places, most)

    def outdated(self, spec: TableSpec, windows: Sequence[Window]) -> Outdated:
        """Rows of an upsert whose key has a row in the source that lies in one of the windows and cannot land."""
        held, source = self._held_and_source(spec)
        from incremental_assets.adapters.delta.audit import checksums

        with explained(spec.id, self._lake), one_reader(source, spec.id):
            return checksums.outdated(held, windows, source)

    def duplicates(self, spec: TableSpec) -> Duplicates:
        """Keys of `spec.key` that the table holds more than once."""
        path = table_path(self._lake, spec.id)
        log = open_log(path)
        if not spec.key or log is None:
            return Duplicates(0, 0)
        session = self._session()
        from incremental_assets.adapters.delta.audit import checksums
        from incremental_assets.adapters.delta.tasks.audit.repeating import may_repeat

        with explained(spec.id, self._lake):
            if plane.known(lambda: may_repeat(self._tasks, path, log, spec)) is False:
                return Duplicates(0, 0)
            return checksums.duplicates(session, path, spec)

    def keys(self, spec: TableSpec) -> CopyKeys | None:
        """The keys of the target as it is now; None where nothing of ours has landed."""
        path = table_path(self._lake, spec.id)
        log = open_log(path)
        # What lies there when nothing of ours has landed counts for nothing.
        if log is None or not log.landed():
            return None
        session = self._session()
        from incremental_assets.adapters.delta.audit import checksums
        from incremental_assets.adapters.delta.audit.keys import HeldKeys
        from incremental_assets.adapters.delta.tasks.audit.keyed import KeysByTasks

        held = checksums.Held(session, path, log, spec)
        return KeysByTasks(self._tasks, held, self._lake, lambda: HeldKeys(held, self._lake))

    def placed_rows(self, spec: TableSpec, windows: Sequence[Window]) -> PlacedRows:
        """The rows of the windows at the version of now, by the places of their keys."""
        held = self._held(spec)
        from incremental_assets.adapters.delta.audit.placed_rows import HeldRows
        from incremental_assets.adapters.delta.tasks.audit.placing import PlacedByTasks

        return PlacedByTasks(self._tasks, held, windows, self._lake, HeldRows(held, windows, self._lake))

    def readable(self, spec: TableSpec, key: str) -> str:
        """Texts without their length, moments in their usual form."""
        return readable_parts(spec.key_columns, key)

    def count(self, spec: TableSpec, windows: Sequence[Window]) -> tuple[int, ...]:
        """Rows of the target in each window, every version of an append counted."""
        path = table_path(self._lake, spec.id)
        log = open_log(path)
        if log is None:
            return (0,) * len(windows)
        session = self._session()
        from incremental_assets.adapters.delta.audit import checksums

        with explained(spec.id, self._lake):
            return checksums.count(checksums.Held(session, path, log, spec), windows)

    def _held_and_source(self, spec: TableSpec) -> tuple[Held, Reader]:
        """The table at the version of now, and its source."""
        if self._source is None:
            raise ValueError("a lake that compares is given the reader of the source")
        return self._held(spec), self._source

    def _erased(self, spec: TableSpec) -> Callable[[frozenset[str]], frozenset[str]] | None:
        """What tells those of some keys that were erased; None where none was."""
        return partial(self.erasures.among, spec) if self.erasures.has(spec.id) else None

    def _held(self, spec: TableSpec) -> Held:
        path = table_path(self._lake, spec.id)
        # Before the source is read: a sync in between then only takes rows out of windows, on both sides.
        log = open_log(path)
        if log is None:
            raise TargetChanged(f"{spec.id}: there is no table at {path} to compare with the source; run a sync first")
        session = self._session()
        from incremental_assets.adapters.delta.audit import checksums

        return checksums.Held(session, path, log, spec, quarantine_path(self._lake, spec.id), self._erased(spec))
