"""The history beside a copy, as the lake is asked for it."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from functools import partial

from incremental_assets.adapters.delta.beside import (
    check_history,
    check_own_history,
    has_lost_its_history,
    shown_version,
)
from incremental_assets.adapters.delta.commit_metadata import CommitMetadata
from incremental_assets.adapters.delta.erased import leave_out
from incremental_assets.adapters.delta.errors import explained
from incremental_assets.adapters.delta.history import following
from incremental_assets.adapters.delta.lake_part import LakePart
from incremental_assets.adapters.delta.layout import layout
from incremental_assets.adapters.delta.log.transaction_log import TableLog, open_log
from incremental_assets.adapters.delta.tasks.compaction.gathering import Compacting
from incremental_assets.core.errors import TargetChanged
from incremental_assets.core.model.compaction import How, Layout
from incremental_assets.core.model.history import FaultyKeys, HistoryRows, Step
from incremental_assets.core.model.paths import table_path
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.planning.plan import CommitIds


class LakeHistory(LakePart):
    """Implements `core.ports.LakeHistorian`."""

    def behind(self, spec: TableSpec) -> Step | None:
        """What its history has still to follow, from the logs alone. Raises TargetChanged."""
        copy, history = self._own_logs(spec)
        step = None if copy is None else following.next_of(copy, history)
        if copy is None or step is None:
            return None
        return replace(step, begins_again=has_lost_its_history(copy, history))

    def follow(self, spec: TableSpec, step: Step, run_id: str) -> HistoryRows:
        """Follow one step, in one commit. Does nothing where that has been done."""
        session = self._session()
        from incremental_assets.adapters.delta.history import table, writing

        with explained(spec.id, self._lake), self._committing(spec, spec.id.history):
            copy, history = self._own_logs(spec)
            if copy is None or following.is_shown(step, copy, history):
                return HistoryRows()
            with self._changes(spec, copy, step) as changes:
                tables = table.Tables(spec, copy, *self._paths(spec), changes)
                return writing.follow(session, self._tasks, tables, step, run_id)

    def differing_versions(self, spec: TableSpec) -> FaultyKeys | None:
        """Keys whose current version is not the row of the copy at the version that the history shows."""
        copy, history = self._logs(spec)
        shown = None if copy is None else shown_version(copy, history)
        if copy is None or shown is None:
            return None
        session = self._session()
        from incremental_assets.adapters.delta.history import faults, table

        with explained(spec.id, self._lake):
            return faults.differing(session, table.Tables(spec, copy, *self._paths(spec)), shown)

    def overlapping_versions(self, spec: TableSpec) -> FaultyKeys | None:
        """Keys whose versions overlap, are empty, or leave a gap."""
        if self._logs(spec)[1] is None:
            return None
        session = self._session()
        from incremental_assets.adapters.delta.history import faults

        with explained(spec.id, self._lake):
            return faults.overlapping(session, spec, self._paths(spec)[1])

    def layout_of_history(self, spec: TableSpec) -> Layout:
        """The files of the history as its log shows them, without Spark; none if there is no table."""
        return layout(self._paths(spec)[1])

    def compact_history(self, spec: TableSpec, how: How, run_id: str, state: State) -> int:
        """One commit, which follows nothing: what the history shows stays as it was."""
        session = self._session()
        from incremental_assets.adapters.delta import compaction

        with explained(spec.id, self._lake), self._committing(spec, spec.id.history):
            _, history = self._own_logs(spec)
            if history is None:
                raise TargetChanged(f"{spec.id}: its history is gone")
            commit_ids = CommitIds(state.app_id, state.seq, uuid.uuid4().hex)
            note = CommitMetadata.of_maintenance(commit_ids, run_id, None, history.version)
            path = self._paths(spec)[1]
            work = Compacting(spec.id.history, path, history.version, how, note, spec.key)
            return compaction.compact(session, self._tasks, work)

    def _changes(self, spec: TableSpec, copy: TableLog, step: Step) -> AbstractContextManager[str | None]:
        """A file of all versions that the one commit to be followed is made of, where the source's log has them."""
        at = step.landed_at
        note = None if at is None else next((each.note for each in copy.commits(at - 1) if each.version == at), None)
        if at is None or note is None or note.state is None or self.versions is None:
            return nullcontext()
        # Inside the function: it imports Spark, which a look at the logs does without.
        from incremental_assets.adapters.delta.copied_rows import copied_rows

        before = partial(copied_rows, self._lake, version=at - 1)
        return self._without_erased(spec, self.versions(spec, note.state, before) or nullcontext())

    @contextmanager
    def _without_erased(self, spec: TableSpec, file: AbstractContextManager[str | None]) -> Iterator[str | None]:
        """The source's log may still say something of keys that were erased."""
        erased = self.erasures.keys(spec.id)
        with file as path:
            if path is not None and erased is not None:
                leave_out(path, spec, erased)
            yield path

    def _own_logs(self, spec: TableSpec) -> tuple[TableLog | None, TableLog | None]:
        """The same for whoever goes on from them: raises TargetChanged as well where another writer has changed the history."""
        copy, history = self._logs(spec)
        if history is not None:
            check_own_history(spec, self._paths(spec)[1], history)
        return copy, history

    def _logs(self, spec: TableSpec) -> tuple[TableLog | None, TableLog | None]:
        """The logs of the copy and of its history, None for one that is not there. Raises TargetChanged where the history's place holds another table, or a history of another kind."""
        paths = self._paths(spec)
        copy, history = (open_log(path) for path in paths)
        if history is not None:
            following.check_kind(spec, paths[1], history)
            history.check_remembers(paths[1])
            if copy is not None:
                check_history(spec, paths[1], copy, history)
        return copy, history

    def _paths(self, spec: TableSpec) -> tuple[str, str]:
        return table_path(self._lake, spec.id), table_path(self._lake, spec.id.history)
