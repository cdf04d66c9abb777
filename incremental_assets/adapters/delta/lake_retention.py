"""What a copy, its history and its quarantine keep longer than they have to, as the lake is asked for it."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from incremental_assets.adapters.delta.commit_metadata import QUARANTINE_SUFFIX, CommitMetadata
from incremental_assets.adapters.delta.errors import explained
from incremental_assets.adapters.delta.history.following import HISTORY
from incremental_assets.adapters.delta.lake_part import LakePart
from incremental_assets.adapters.delta.log.transaction_log import TableLog, open_log
from incremental_assets.adapters.delta.old_files import clock_of, old_files, remove
from incremental_assets.adapters.spark.not_by_tasks import NotByTasks
from incremental_assets.core.model.history import History
from incremental_assets.core.model.paths import quarantine_path, table_path
from incremental_assets.core.model.retention import OldFiles
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.planning.plan import CommitIds


class LakeRetention(LakePart):
    """Implements `core.ports.LakeRetention`."""

    def old_files(self, spec: TableSpec, files: timedelta, now: datetime | None) -> tuple[OldFiles, ...]:
        """Of the copy, and of what lies beside it: nothing of that is removed which a rollback of the copy would read."""
        path = table_path(self._lake, spec.id)
        if open_log(path) is None:
            return ()
        try:
            now = now or clock_of(path)
            copy = old_files(path, files, now)
        except NotByTasks as why:
            return (_left(path, why),)
        return (copy, *(_beside(place, files, now, copy.begun) for place in self._places_beside(spec)))

    def forget_versions(self, spec: TableSpec, before: datetime, run_id: str, state: State) -> int:
        """One commit, which follows nothing: what the history shows of later moments stays as it was."""
        log = open_log(table_path(self._lake, spec.id.history))
        if log is None or log.properties.get(HISTORY) != History.SCD2:
            return 0
        site = self._site()
        from incremental_assets.adapters.delta import forgetting

        with explained(spec.id, self._lake), self._committing(spec, spec.id.history):
            note = _note(log, state.app_id, state, run_id)
            return forgetting.forget_versions(site, forgetting.Aged(spec, before, log, note))

    def forget_quarantined(self, spec: TableSpec, before: datetime, run_id: str, state: State) -> int:
        """One commit, behind the quarantine that the copy has recorded."""
        log = open_log(quarantine_path(self._lake, spec.id))
        if log is None or not log.app_id.endswith(QUARANTINE_SUFFIX):
            return 0
        site = self._site()
        from incremental_assets.adapters.delta import forgetting

        with explained(spec.id, self._lake), self._committing(spec):
            note = _note(log, log.app_id, state, run_id)
            return forgetting.forget_quarantined(site, forgetting.Aged(spec, before, log, note))

    def remove_files(self, spec: TableSpec, found: Sequence[OldFiles]) -> None:
        """Remove them, if this installation owns the table."""
        self._owner.check(spec.id)
        with explained(spec.id, self._lake):
            for each in found:
                remove(each)

    def _places_beside(self, spec: TableSpec) -> Iterator[str]:
        """Where tables of ours lie."""
        for place in (table_path(self._lake, spec.id.history), quarantine_path(self._lake, spec.id)):
            log = open_log(place)
            if log is not None and (HISTORY in log.properties or log.app_id.endswith(QUARANTINE_SUFFIX)):
                yield place


def _note(log: TableLog, app_id: str, state: State, run_id: str) -> CommitMetadata:
    ids = CommitIds(app_id, state.seq, uuid.uuid4().hex)
    return CommitMetadata.of_maintenance(ids, run_id, None, log.version)


def _beside(place: str, files: timedelta, now: datetime, until: datetime | None) -> OldFiles:
    try:
        return old_files(place, files, now, until)
    except NotByTasks as why:
        return _left(place, why)


def _left(place: str, why: NotByTasks) -> OldFiles:
    return OldFiles(place, left=f"{why}: only Delta's own VACUUM can tell which of its files nobody needs")
