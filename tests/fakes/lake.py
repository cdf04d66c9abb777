"""Delta tables in memory: what their logs show, commits, and maintenance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from incremental_assets.core.errors import CommitMissing, Overtaken, StageBroken, TargetChanged
from incremental_assets.core.model.batch import Batch
from incremental_assets.core.model.column import Column
from incremental_assets.core.model.compaction import How, Layout
from incremental_assets.core.model.cursor import CursorValue
from incremental_assets.core.model.quarantine import Resolution, UnfitRows
from incremental_assets.core.model.rename import name_after
from incremental_assets.core.model.retention import OldFiles
from incremental_assets.core.model.schema_drift import TargetColumn
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import Strategy, TableSpec
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.model.window import Window
from incremental_assets.core.planning.plan import CommitIds, Renaming, RollBack, SyncPlan
from incremental_assets.core.planning.report import RowCounts
from incremental_assets.core.planning.target import NO_TABLE, Commit, LastCommit, Target
from incremental_assets.core.ports import Snapshot
from tests.fakes.auditor import FakeAuditor
from tests.fakes.delta_table import DeltaTable, LogEntry
from tests.fakes.history import FakeHistorian
from tests.fakes.keys import FakeKeys
from tests.fakes.rows import (
    Row,
    breaks,
    cursor_of,
    inside,
    is_gone,
    is_live,
    key_of,
    own_columns,
    rejected,
    standing,
    without,
)
from tests.fakes.stage import FakeStage, nothing


@dataclass
class FakeLake(FakeAuditor, FakeHistorian):
    """Every table of the lake, and its quarantine. `moment` is told "before commit" and "after commit" of each apply, and "before fence commit"."""

    stage: FakeStage
    moment: Callable[[str], None] = nothing
    settled: list[tuple[TableId, str]] = field(default_factory=list)
    """Batches of which it was asked, while they were staged, what they have overtaken of what a contract holds."""
    known: dict[TableId, tuple[Column, ...]] = field(default_factory=dict)
    """Columns of a table that has not those of the source's catalogue, until a batch lands."""
    lacks: dict[TableId, str] = field(default_factory=dict)
    """A file that is gone, of a table whose log stands."""

    old: dict[TableId, tuple[OldFiles, ...]] = field(default_factory=dict)
    """Files that nobody needs any more."""
    removed: list[str] = field(default_factory=list)
    forgotten: list[tuple[TableId, datetime]] = field(default_factory=list)
    """Tables of which rows were to be forgotten, and since when."""

    # --- the ports -----------------------------------------------------------------------------------

    def inspect(self, spec: TableSpec, since: int | None) -> Target | None:
        """The log, read without Spark."""
        table = self.tables.get(spec.id)
        if table is None:
            return None
        newest = max((version for version, entry in enumerate(table.log) if entry.ours), default=-1)
        after = newest if since is None else since
        foreign = [entry.operation for entry in table.log[after + 1 :] if not entry.ours and entry.changes_rows]
        states = [entry.state for entry in table.log if entry.ours and entry.state is not None]
        return Target(
            table_id=table.table_id,
            app_id=table.app_id,
            version=table.version,
            seq=table.transactions.get(table.app_id, -1),
            state=states[-1] if states else None,
            foreign=foreign[0] if foreign else "",
            landed=table.landed or table.cleaned,
            columns=tuple(TargetColumn(name, kind) for name, kind in self.columns(spec)),
            lacks=self.lacks.get(spec.id, ""),
        )

    def last_commit(self, spec: TableSpec) -> LastCommit | None:
        """The last version, and whose it is."""
        table = self.tables.get(spec.id)
        if table is None:
            return LastCommit(NO_TABLE)
        names = table.log[-1].commit_ids if table.log else None
        return LastCommit(table.version, names.app_id, names.seq) if names else LastCommit(table.version)

    def fence(self, spec: TableSpec, commit_ids: CommitIds, state: State | None) -> None:
        """An empty commit; the table is made if there is none, since a sleeping run may be about to make it."""
        table = self._opened(spec, commit_ids)
        seen = table.version
        self.moment("before fence commit")
        if table.version != seen:
            raise Overtaken(
                f"{spec.id}: another writer changed this table while sequence {commit_ids.seq} was being written"
            )
        table.commit(LogEntry(table.rows, "FENCE", ours=True, commit_ids=commit_ids, state=state, changes_rows=False))

    def find(self, spec: TableSpec, batch_id: str) -> Commit | None:
        """The commit of a batch."""
        table = self.tables.get(spec.id)
        for version, entry in enumerate(table.log if table else ()):
            if (
                table is not None
                and entry.commit_ids is not None
                and entry.commit_ids.batch_id == batch_id
                and entry.counts is not None
                and not entry.is_load
            ):
                return Commit(table.table_id, version, entry.counts, entry.state, rolled_back_to=entry.rolled_back_to)
        return None

    def unfit(self, spec: TableSpec) -> UnfitRows | None:
        """Rows that could not land: the last of each key, unless the copy of an upsert has the key again."""
        last = {key_of(spec, row): row for row in self.unfit_rows(spec)}
        table = self.tables.get(spec.id)
        landed = {key_of(spec, row) for row in table.rows} if table and spec.traits.one_row_per_key else set()
        reasons = Counter(str(row["_sync_reason"]) for key, row in last.items() if key not in landed)
        return UnfitRows(reasons.total(), tuple(sorted(reasons.items())))

    def load(self, plan: SyncPlan, snapshot: Snapshot) -> Batch:
        """Everything that is there is replaced; verified as a staged batch is."""
        spec, commit_ids = plan.spec, plan.commit_ids
        table = self._opened(spec, commit_ids)
        rows = tuple({**row, "_sync_seq": commit_ids.seq} for row in snapshot.frame[self.stage.loses :])
        self.moment("before load commit")
        under = replace(commit_ids, seq=-1 if commit_ids.load_seq is None else commit_ids.load_seq)
        entry = LogEntry(rows, "LOAD", ours=True, commit_ids=under, counts=RowCounts(len(rows)), is_load=True)
        if not table.commit(entry):
            raise CommitMissing(f"{spec.id}: the log does not hold the rows of sequence {under.seq}")
        self.moment("after load commit")
        if len(rows) != snapshot.rows:
            raise StageBroken(f"{spec.id}: {len(rows)} rows were written where the source counted {snapshot.rows}")
        return Batch(commit_ids.batch_id, len(rows), digest="", in_target=True)

    def apply(self, plan: SyncPlan, batch: Batch, state: State) -> Commit:
        """Quarantine, one commit, its confirmation."""
        spec, staged = plan.spec, [] if batch.in_target else self.stage.read(plan.spec.id, batch)
        bad = [{**row, "_sync_reason": reason} for row in staged if (reason := rejected(plan, row))]
        kept = self.quarantine.setdefault(spec.id, [])
        for row in bad:
            open_ = self.unfit_rows(spec)
            alike = [there for there in open_ if {**there, "_sync_seq": None} == {**row, "_sync_seq": None}]
            kept += [{**row, "_sync_seq": plan.commit_ids.seq}] if len(alike) < bad.count(row) else []
        table = self._opened(spec, plan.commit_ids)
        self.moment("before commit")
        there = [own_columns(row) for row in staged if not rejected(plan, row) and not is_gone(spec, row)]
        there = completed(spec, batch, there, table) if batch.new_columns else there
        good = [row for row in there if not breaks(spec, row)]
        self.hold(spec, [row for row in there if breaks(spec, row)], plan.commit_ids.seq)
        table.commit(
            LogEntry(
                table.rows,
                "LOADED",
                ours=True,
                commit_ids=plan.commit_ids,
                state=state,
                counts=RowCounts(batch.rows, batch.rows),
            )
            if batch.in_target
            else self.written(plan, batch, state, table, good)
        )
        self.known.pop(spec.id, None)
        self.moment("after commit")
        commit = self.find(spec, plan.commit_ids.batch_id)
        if commit is None:
            raise CommitMissing(
                f"{spec.id}: the log does not hold the batch {plan.commit_ids.batch_id} of sequence {plan.commit_ids.seq}"
            )
        self.settle(spec, staged, plan.commit_ids.seq, plan.request.resolves, overwrites=plan.overwrites)
        if plan.overwrites and not batch.in_target:
            again = [{**row, "_sync_seq": None} for row in bad]
            self.resolve_unfit(spec, [row for row in self.unfit_rows(spec) if {**row, "_sync_seq": None} not in again])
        return commit

    def settle_landed(self, spec: TableSpec, batch_id: str) -> None:
        """Once more, of what is still staged."""
        staged = self.stage.batches.get((spec.id, batch_id))
        log = self.tables[spec.id].log
        entry = next(each for each in log if each.commit_ids is not None and each.commit_ids.batch_id == batch_id)
        if staged is not None and entry.commit_ids is not None:
            self.settled.append((spec.id, batch_id))
            self.settle(spec, staged, entry.commit_ids.seq, Resolution.SUPERSEDED, overwrites=entry.overwrites)

    def rows(self, spec: TableSpec) -> int | None:
        """As the log tells them."""
        return len(self.tables[spec.id].rows) if spec.id in self.tables else None

    def lowest(self, spec: TableSpec) -> CursorValue | None:
        """As the log tells it."""
        table, cursor = self.tables.get(spec.id), spec.read_by
        found = (
            [row[cursor.column] for row in table.rows if row.get(cursor.column) is not None] if table and cursor else []
        )
        return CursorValue.parse(cursor.type, str(min(found))) if found and cursor else None

    def keys(self, spec: TableSpec) -> FakeKeys | None:
        """Of the rows that are there now."""
        table = self.tables.get(spec.id)
        rows = standing(spec, table.rows) if table else []
        if table is None or not (table.landed or table.cleaned):
            return None
        dead = frozenset(key_of(spec, row) for row in table.rows if not (is_live(row) or spec.deletes.marks))
        return replace(FakeKeys.of(spec, rows), dead=dead)

    def layout(self, spec: TableSpec) -> Layout:
        """What the commits since the last OPTIMIZE left, and the one file that this made."""
        table = self.tables.get(spec.id)
        if table is None:
            return Layout((), 0, 0)
        since = [entry for entry in table.log[table.gathered :] if entry.counts is not None]
        files = len(since) * self.small_files + (table.gathered > 0)
        return Layout((1000,) * files, len(table.rows), len(table.rows), self.by_tasks)

    def compact(self, spec: TableSpec, how: How, run_id: str, state: State) -> int:
        """A commit that carries the state and no sequence, and leaves the rows."""
        table = self.tables[spec.id]
        self.moment("before commit")
        table.commit(LogEntry(table.rows, "OPTIMIZE", ours=True, state=state, changes_rows=False))
        table.gathered = len(table.log)
        self.moment("after commit")
        return table.version

    def old_files(self, spec: TableSpec, files: timedelta, now: datetime | None) -> tuple[OldFiles, ...]:
        """What a test says of the copy."""
        self.moment("old files")
        return self.old.get(spec.id, ())

    def forget_versions(self, spec: TableSpec, before: datetime, run_id: str, state: State) -> int:
        """As many as a test says."""
        self.moment("before forgetting")
        self.forgotten.append((spec.id.history, before))
        return 3

    def forget_quarantined(self, spec: TableSpec, before: datetime, run_id: str, state: State) -> int:
        """As many as a test says."""
        self.moment("before forgetting")
        self.forgotten.append((spec.id, before))
        return 2

    def remove_files(self, spec: TableSpec, found: Sequence[OldFiles]) -> None:
        """One after the other."""
        for each in found:
            for file in each.files:
                self.moment("before removal")
                self.removed.append(file.name)

    def columns(self, spec: TableSpec) -> tuple[tuple[str, str], ...]:
        """Of the table as the source's catalogue shows it."""
        columns = self.known.get(spec.id, spec.columns) if spec.id in self.tables else ()
        return tuple((column.name, column.spark_type) for column in columns)

    # --- what a test asks, and what other writers do ---------------------------------------------------

    def last_sequence(self, table: TableId) -> int:
        """Of the newest commit of ours."""
        return max(self.sequences(table), default=0)

    def sequences(self, table: TableId) -> list[int]:
        """The sequence of each commit of ours, in the log's order."""
        log = self.tables[table].log if table in self.tables else []
        return [entry.commit_ids.seq for entry in log if entry.commit_ids is not None]

    def foreign(self, table: TableId, operation: str, rows: Sequence[Row] | None = None) -> None:
        """A commit of another writer: its rows, or none changed (OPTIMIZE)."""
        there = self.tables[table]
        there.log.append(
            LogEntry(there.rows if rows is None else tuple(rows), operation, ours=False, changes_rows=rows is not None)
        )

    def drop(self, table: TableId) -> None:
        """The table is gone."""
        del self.tables[table]

    def forget_states(self, table: TableId) -> None:
        """The log was cleaned: `txn` stays, userMetadata is gone."""
        there = self.tables[table]
        there.cleaned = True
        there.log = [
            LogEntry(each.rows, each.operation, ours=True, changes_rows=each.changes_rows) for each in there.log
        ]

    def rename(self, spec: TableSpec, renaming: Renaming, state: State) -> Commit:
        """The rows with the new name, in a commit that counts none."""
        table = self._opened(spec, renaming.commit_ids)
        rows = tuple({name_after(renaming.renames, name): value for name, value in row.items()} for row in table.rows)
        entry = LogEntry(rows, "RENAME", True, renaming.commit_ids, state, RowCounts(), changes_rows=False)
        self.moment("before commit")
        if not table.commit(entry):
            raise CommitMissing(f"{spec.id}: the log does not hold sequence {renaming.commit_ids.seq}")
        self.moment("after commit")
        return Commit(table.table_id, table.version, RowCounts(), state)

    def roll_back(self, spec: TableSpec, back: RollBack, state: State) -> Commit:
        """The rows of an earlier version."""
        table = self._opened(spec, back.commit_ids)
        entry = LogEntry(
            table.log[back.version].rows,
            "RESTORE",
            ours=True,
            commit_ids=back.commit_ids,
            state=state,
            counts=RowCounts(),
            rolled_back_to=back.seq,
        )
        self.moment("before commit")
        if not table.commit(entry):
            raise CommitMissing(f"{spec.id}: the log does not hold sequence {back.commit_ids.seq}")
        self.moment("after commit")
        return Commit(table.table_id, table.version, RowCounts(), state, rolled_back_to=back.seq)

    def roll_back_quarantine(self, spec: TableSpec, commit_ids: CommitIds, to_seq: int) -> None:
        """Without the rows that came later."""
        kept = self.quarantine.get(spec.id, [])
        kept[:] = [row for row in kept if int(str(row["_sync_seq"])) <= to_seq]
        self.resolved = [(row, seq) for row, seq in self.resolved if seq <= to_seq]
        self.take_back_held(spec, to_seq)

    # --- how a batch becomes rows ---------------------------------------------------------------------

    def written(self, plan: SyncPlan, batch: Batch, state: State, table: DeltaTable, good: list[Row]) -> LogEntry:
        """The commit of a batch, computed against the table as it is at that moment."""
        mark = {"_sync_seq": plan.commit_ids.seq}
        deleted = len(table.rows) if plan.overwrites else 0
        if plan.overwrites or not (table.landed or table.cleaned):
            kept, added, updated = [], good, 0
        elif plan.reading.has_new_keys:
            kept, added, updated = list(table.rows), good, 0
        elif plan.spec.strategy is Strategy.UPSERT:
            good = list({key_of(plan.spec, row): row for row in good}.values())
            added = [
                row for row in good if not any(own_columns(there) == row for there in table.rows if is_live(there))
            ]
            keys = {key_of(plan.spec, row) for row in added}
            others = [row for row in table.rows if key_of(plan.spec, row) not in keys]
            gone = self.withdrawn(plan, batch, good)
            kept = [row for row in others if key_of(plan.spec, row) not in gone]
            updated, deleted = len(table.rows) - len(others), len(others) - len(kept)
        else:
            kept, added, updated = list(table.rows), self.unseen(plan, batch, table, good), 0
        late_below = getattr(plan.reading, "late_below", None)
        late = sum(
            1
            for row in added
            if late_below is not None and (at := cursor_of(plan.spec, row)) is not None and at < late_below
        )
        counts = RowCounts(
            read=batch.rows,
            inserted=len(added) - updated,
            updated=updated,
            deleted=deleted,
            unchanged=len(good) - len(added),
            late=late,
            quarantined=batch.rejected,
        )
        if plan.spec.deletes.marks and not plan.overwrites and (table.landed or table.cleaned):
            kept, marked = self.with_marks(plan, batch, kept, good)
            deleted += marked
        counts = replace(counts, deleted=deleted)
        rows = (*kept, *({**row, **mark} for row in added))
        names = plan.commit_ids
        return LogEntry(rows, "WRITE", True, names, state, counts, overwrites=plan.overwrites)

    def with_marks(self, plan: SyncPlan, batch: Batch, kept: list[Row], good: Sequence[Row]) -> tuple[list[Row], int]:
        """Rows that stay, those that are gone with the time at which they were found so, and how many these are."""
        staged = self.stage.read(plan.spec.id, batch)
        gone = {key_of(plan.spec, row) for row in staged if is_gone(plan.spec, row) and not rejected(plan, row)}
        gone -= {key_of(plan.spec, row) for row in good}
        latest = {key_of(plan.spec, row): row for row in kept}
        found = [latest[key] for key in gone if key in latest and is_live(latest[key])]
        marks = {"_sync_seq": plan.commit_ids.seq, "_sync_deleted_at": plan.reading.clock}
        marked: list[Row] = [{**row, **marks} for row in found]
        if plan.spec.traits.keeps_versions:
            return [*kept, *marked], len(found)
        return [*(row for row in kept if row not in found), *marked], len(found)

    def withdrawn(self, plan: SyncPlan, batch: Batch, good: Sequence[Row]) -> set[tuple[object, ...]]:
        """Whole keys of the rows that are gone or went to quarantine, but for those under which another row lands."""
        staged, stays = self.stage.read(plan.spec.id, batch), plan.spec.deletes.marks
        keys = {
            key_of(plan.spec, row) for row in staged if rejected(plan, row) or (is_gone(plan.spec, row) and not stays)
        }
        return {key for key in keys if None not in key} - {key_of(plan.spec, row) for row in good}

    def unseen(self, plan: SyncPlan, batch: Batch, table: DeltaTable, good: list[Row]) -> list[Row]:
        """An append's rows less those that the overlap already holds."""
        read = plan.previous.position.max_cursor_read if plan.previous else None
        if batch.lower is not None and read is not None and read < batch.lower:
            return good
        window = Window(batch.lower, None)
        there = [row for row in table.rows if inside(plan.spec, window, row, nulls=True)]
        if plan.spec.key and plan.spec.key_enforced:
            # A row that goes back to what it was earlier is a new version.
            there = list({key_of(plan.spec, row): row for row in there}.values())
        return without(good, [row for row in there if is_live(row)])

    def _opened(self, spec: TableSpec, commit_ids: CommitIds) -> DeltaTable:
        if spec.id not in self.tables:
            table = DeltaTable(commit_ids.app_id)
            table.commit(LogEntry((), "CREATE TABLE", ours=True, changes_rows=False))
            self.tables[spec.id] = table
            self.moment("after create")
        table = self.tables[spec.id]
        if table.app_id != commit_ids.app_id:
            raise TargetChanged(f"{spec.id}: the table at its place is not the one that this run was planned for")
        return table


def completed(spec: TableSpec, batch: Batch, rows: Sequence[Row], table: DeltaTable) -> list[Row]:
    """Rows that were read in part, with the rest of the target's of the same key and cursor."""
    there = {key_of(spec, row): own_columns(row) for row in table.rows if is_live(row)}
    same = [
        row for row in rows if (held := there.get(key_of(spec, row))) and cursor_of(spec, held) == cursor_of(spec, row)
    ]
    return [{**there[key_of(spec, row)], **{name: row[name] for name in batch.new_columns}} for row in same]
