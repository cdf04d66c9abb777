"""The lake: one Delta table per source table, one commit per sync, each confirmed from the log.

What imports Spark is imported after the session is there, which one thread at a time opens: of two threads that import it at the same
moment, Python would give one a half of it.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from itertools import islice
from typing import TYPE_CHECKING

from incremental_assets.adapters.databases.dialect import Reader
from incremental_assets.adapters.delta import plane, rollback
from incremental_assets.adapters.delta.beside import is_quarantine_whole, lacking, recorded
from incremental_assets.adapters.delta.commit_metadata import BEFORE_LANDING, CommitMetadata, Kind
from incremental_assets.adapters.delta.confirmed import changed_meanwhile, confirmed
from incremental_assets.adapters.delta.counts import check_sums, row_counts
from incremental_assets.adapters.delta.damaged_files import lost_file
from incremental_assets.adapters.delta.errors import explained
from incremental_assets.adapters.delta.fence import fence
from incremental_assets.adapters.delta.lake_audit import LakeAudit
from incremental_assets.adapters.delta.lake_history import LakeHistory
from incremental_assets.adapters.delta.lake_quarantine import LakeQuarantine
from incremental_assets.adapters.delta.lake_retention import LakeRetention
from incremental_assets.adapters.delta.layout import layout
from incremental_assets.adapters.delta.log.idle_look import last_commit
from incremental_assets.adapters.delta.log.transaction_log import Committed, TableLog, open_log
from incremental_assets.adapters.delta.ownership import Ownership
from incremental_assets.adapters.delta.quarantine.held import concerned
from incremental_assets.adapters.delta.quarantine.names import check_quarantine_renamable, rename_quarantine
from incremental_assets.adapters.delta.quarantine.unit import Came
from incremental_assets.adapters.delta.renaming import Named, check_renamable, rename
from incremental_assets.adapters.delta.target_table import opened
from incremental_assets.adapters.delta.tasks.compaction.gathering import Compacting
from incremental_assets.adapters.spark.manifest import check_rows, has_manifest
from incremental_assets.adapters.spark.tasks import Tasks
from incremental_assets.core.errors import TargetChanged
from incremental_assets.core.model.batch import Batch
from incremental_assets.core.model.compaction import How, Layout
from incremental_assets.core.model.cures import full_refresh
from incremental_assets.core.model.paths import staging_path, table_path
from incremental_assets.core.model.readers import Readers
from incremental_assets.core.model.schema_drift import check_names, is_added, sql_type
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.planning.plan import CommitIds, Renaming, RollBack, SyncPlan
from incremental_assets.core.planning.report import RowCounts
from incremental_assets.core.planning.target import Commit, LastCommit, Target
from incremental_assets.core.ports import Snapshot

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class DeltaLake(LakeAudit, LakeHistory, LakeQuarantine, LakeRetention):
    """Implements `core.ports.Lake`. `inspect`, `find` and `columns` read logs and start no Spark."""

    def __init__(
        self,
        lake: str,
        session: Callable[[], SparkSession],
        source: Reader | None = None,
        tasks: Tasks | None = None,
        owner: Ownership | None = None,
    ) -> None:
        super().__init__(lake, session, source, tasks, owner)
        self._seen: dict[TableId, int] = {}
        """The version of each table that `inspect` last returned: its caller knows what other writers did up to it."""

    def inspect(self, spec: TableSpec, since: int | None) -> Target | None:
        """The target as it is, with foreign commits after version `since` (None: after our newest commit); None if there is no table."""
        log = open_log(table_path(self._lake, spec.id))
        if log is None:
            self._seen.pop(spec.id, None)
            return None
        log.check_remembers(table_path(self._lake, spec.id))
        self._seen[spec.id] = log.version
        newest = next(log.ours(), None)
        states = (commit.note.state for commit in log.ours() if commit.note and commit.note.state)
        # Maintenance that was overtaken by a sync carries an older one than the commit before it.
        state = max(islice(states, 2), key=lambda found: found.seq, default=None)
        return Target(
            log.table_id,
            log.app_id,
            log.version,
            log.sequence,
            state,
            _foreign(log, newest, since),
            log.landed(),
            log.columns(),
            lacking(self._lake, spec, log) or lost_file(self._lake, spec.id),
            # Tasks do not put together a row of what is there and what has come.
            whole_rows_only=not plane.spark_commits(table_path(self._lake, spec.id)),
        )

    def last_commit(self, spec: TableSpec) -> LastCommit | None:
        """The target's last commit, by a listing of its log and the beginning of one file; None where only a session could list it."""
        last = last_commit(table_path(self._lake, spec.id))
        if last is None or is_quarantine_whole(self._lake, spec, last):
            return last
        # Whose it is says no more that the copy stands: its quarantine does not.
        return LastCommit(last.version)

    def fence(self, spec: TableSpec, commit_ids: CommitIds, state: State | None) -> None:
        """Commit an empty batch under `commit_ids`, so that a sleeping run's lower sequence can never commit again."""
        session, path = self._session(), table_path(self._lake, spec.id)
        with explained(spec.id, self._lake), self._committing(spec):
            log = opened(session, path, spec, commit_ids.app_id)
            newest = next(log.ours(), None)
            # What an unconfirmed commit did not see, the next look must still find.
            note = CommitMetadata.of_fence(commit_ids, state, _floor(newest) if newest else log.version)
            note = recorded(log).noted(note)
            fence(session, spec, path, log.version, note)
            confirmed(spec, path, log.version, commit_ids.batch_id)

    def find(self, spec: TableSpec, batch_id: str) -> Commit | None:
        """The commit that landed a batch, if it did."""
        log = open_log(table_path(self._lake, spec.id))
        if log is None:
            return None
        for commit in log.ours():
            note = commit.note
            if note is not None and note.batch_id == batch_id and note.kind not in BEFORE_LANDING:
                counts = RowCounts() if note.kind in (Kind.ROLLBACK, Kind.RENAME) else row_counts(commit, note)
                return Commit(log.table_id, commit.version, counts, note.state, rolled_back_to=note.rolled_back_to)
        return None

    def load(self, plan: SyncPlan, snapshot: Snapshot) -> Batch:
        """Replace all that is in the target by the snapshot's rows, without a position, and count them there."""
        check_names(plan.spec)
        session, spec, path = self._session(), plan.spec, table_path(self._lake, plan.spec.id)
        from incremental_assets.adapters.delta import loading

        with explained(spec.id, self._lake), self._committing(spec):
            log = opened(session, path, spec, plan.commit_ids.app_id)
            batch, self._seen[spec.id] = loading.load(self._tasks, plan, snapshot, log, path)
        return batch

    def apply(self, plan: SyncPlan, batch: Batch, state: State) -> Commit:
        """Quarantine first, then one commit, then its confirmation from the log."""
        check_names(plan.spec)
        staged = staging_path(self._lake, plan.spec.id, batch.batch_id)
        with explained(plan.spec.id, self._lake, staged), self._committing(plan.spec):
            if has_manifest(staged) and not batch.in_target:
                check_rows(staged, batch.rows)
            log = opened(self._session(), table_path(self._lake, plan.spec.id), plan.spec, plan.commit_ids.app_id)
            found = log.foreign(self._seen.get(plan.spec.id, log.version))
            if found is not None and (batch.in_target or not plan.overwrites):
                raise changed_meanwhile(plan.spec, found)
            return self._land(log, plan, batch, state)

    def rename(self, spec: TableSpec, renaming: Renaming, state: State) -> Commit:
        """One commit, confirmed from the log, that leaves every row as it is."""
        path, names = table_path(self._lake, spec.id), renaming.commit_ids
        with explained(spec.id, self._lake), self._committing(spec):
            log = open_log(path)
            if log is None or log.app_id != names.app_id:
                raise TargetChanged(
                    f"{spec.id}: the table at {path} is not the one in which a column was to be renamed"
                )
            newest = next(log.ours(), None)
            note = CommitMetadata.of_rename(renaming, state, _floor(newest) if newest else log.version)
            note = recorded(log).noted(note)
            back = (
                "rename it back in the source"
                if any(each.by != "column_names" for each in renaming.renames)
                else "write `column_names` as it was"
            )
            cure = f"{back}, or read everything again with {full_refresh(spec)}"
            named = Named(path, renaming.renames, note, cure, spec.readers is not Readers.ANY)
            check_renamable(spec, named)
            check_quarantine_renamable(self._lake, spec, renaming.renames)
            rename(self._session, spec, named)
            after, done = confirmed(spec, path, log.version, names.batch_id)
            rename_quarantine(self._session, self._lake, spec, after, done)
        return Commit(after.table_id, done.version, RowCounts(), state)

    def roll_back(self, spec: TableSpec, back: RollBack, state: State) -> Commit:
        """The rows and columns of an earlier version again, in one commit."""
        self._owner.check(spec.id)
        return rollback.roll_back(self._session, self._lake, spec, back, state)

    def roll_back_quarantine(self, spec: TableSpec, commit_ids: CommitIds, to_seq: int) -> None:
        """The quarantine as it was after a sequence; does nothing where it is so already."""
        self._owner.check(spec.id)
        rollback.roll_back_quarantine(self._session, self._lake, spec, commit_ids, to_seq)

    def _land(self, log: TableLog, plan: SyncPlan, batch: Batch, state: State) -> Commit:
        session, spec, path = self._session(), plan.spec, table_path(self._lake, plan.spec.id)
        from incremental_assets.adapters.delta.land import land
        from incremental_assets.adapters.delta.writers.landing import Delivery

        # Before the commit: where nobody can read what is held, nothing lands, rather than what nobody could settle.
        overtakes = self._overtakes(plan, batch)
        written = land(session, self._tasks, self._lake, log, Delivery(plan, batch, state))
        after, done = confirmed(spec, path, log.version, batch.batch_id)
        meanwhile = after.foreign(log.version)
        # One that replaces the whole table leaves nothing of it; of one that only speaks, the next look finds it.
        is_harmless = written.note.kind in (Kind.OVERWRITE, Kind.LOADED)
        if meanwhile is not None and meanwhile.version < done.version and not is_harmless:
            raise changed_meanwhile(spec, meanwhile)
        landed = written.landed() if written.landed else None
        check_sums(spec.id, done, written.note, into_nothing=written.into_nothing, landed=landed)
        if overtakes:
            self._settle(plan, batch)
        counts = row_counts(done, written.note, late=written.late(), deleted=written.deleted)
        return Commit(
            after.table_id, done.version, counts, state, written.warnings, by_spark=written.by_spark or batch.by_spark
        )

    def _overtakes(self, plan: SyncPlan, batch: Batch) -> bool:
        """Whether something waits in quarantine of which the batch may bring a later version, or the end; one of new columns brings neither. Raises TargetChanged."""
        if batch.in_target or batch.new_columns:
            return False
        staged = staging_path(self._lake, plan.spec.id, batch.batch_id)
        return concerned(self._lake, plan, staged, goes=batch.gone > 0)

    def _settle(self, plan: SyncPlan, batch: Batch) -> None:
        """What waits in quarantine and has a later version now, or has ended."""
        staged, site = staging_path(self._lake, plan.spec.id, batch.batch_id), self._site()
        from incremental_assets.adapters.delta.quarantine import settling

        came = Came(plan.spec, staged, plan.overwrites, plan.commit_ids.seq, plan.request.resolves)
        settling.settle(site, came)

    def rows(self, spec: TableSpec) -> int | None:
        """Rows of the target as its log tells them, without Spark; None if there is no table."""
        log = open_log(table_path(self._lake, spec.id))
        return None if log is None else log.rows()

    def layout(self, spec: TableSpec) -> Layout:
        """The files of the target as its log tells them, without Spark; none if there is no table."""
        return layout(table_path(self._lake, spec.id))

    def compact(self, spec: TableSpec, how: How, run_id: str, state: State) -> int:
        """Put the target's files together, in one commit that carries the state and leaves every row as it is; the version after it."""
        session, path = self._session(), table_path(self._lake, spec.id)
        from incremental_assets.adapters.delta import compaction

        with explained(spec.id, self._lake), self._committing(spec):
            log = open_log(path)
            if log is None or log.app_id != state.app_id:
                raise TargetChanged(f"{spec.id}: the table at {path} is not the one that was just synced")
            newest = next(log.ours(), None)
            commit_ids = CommitIds(log.app_id, log.sequence, uuid.uuid4().hex)
            note = CommitMetadata.of_maintenance(commit_ids, run_id, state, _floor(newest) if newest else log.version)
            note = recorded(log).noted(note)
            return compaction.compact(session, self._tasks, Compacting(spec.id, path, log.version, how, note, spec.key))

    def columns(self, spec: TableSpec) -> tuple[tuple[str, str], ...]:
        """Name and Spark type of the target's columns, without those that a sync adds; empty if there is no table."""
        log = open_log(table_path(self._lake, spec.id))
        return (
            tuple((found.name, sql_type(found.type)) for found in log.columns() if not is_added(found.name))
            if log
            else ()
        )


def _foreign(log: TableLog, newest: Committed | None, since: int | None) -> str:
    """What other writers did after `since`, and what they did while our newest commit was being written, which could not see it."""
    lost = log.lost(since) if since is not None and since < log.version else None
    if lost is not None:
        return f"maybe: version {lost} was removed from the log before anybody could see what it did"
    found = log.foreign(since if since is not None else newest.version if newest else 0)
    if newest is not None and (found is None or newest.version < found.version):
        unseen = log.foreign(_floor(newest))
        found = unseen if unseen is not None and unseen.version < newest.version else found
    return "" if found is None else f"{found.operation} in version {found.version} by {found.engine}"


def _floor(newest: Committed) -> int:
    """The version up to which our newest commit has seen the work of others; its own version where it replaced everything, as nothing before it is left."""
    note = newest.note
    return newest.version if note is None or note.kind in (Kind.OVERWRITE, Kind.LOAD, Kind.ROLLBACK) else note.seen
