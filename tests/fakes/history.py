"""Versions in memory: the rule by which they follow each other, told row by row, and the history beside each fake table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from incremental_assets.core.errors import CommitMissing
from incremental_assets.core.model.compaction import How, Layout
from incremental_assets.core.model.history import FaultyKeys, HistoryRows, Step
from incremental_assets.core.model.rename import Rename, RenamedAt, name_after
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.planning.history_step import Copy, CopyCommit, Effect, next_step
from tests.fakes.delta_table import DeltaTable, LogEntry
from tests.fakes.rows import Row, cursor_of, is_live, key_of, own_columns
from tests.fakes.stage import nothing

Key = tuple[object, ...]
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Version:
    """One version of a row; of one that is gone, the values that it had last."""

    row: Row
    seq: int
    begins: datetime
    ends: datetime | None = None
    gone: bool = False

    @property
    def is_current(self) -> bool:
        """Whether the copy shows it."""
        return self.ends is None and not self.gone


@dataclass(frozen=True)
class Seen:
    """A key as a step finds it in the copy: a row, or none. `told`: when the row says that it was changed."""

    row: Row | None
    told: datetime | None = None
    gone: bool = False


def followed(versions: Iterable[Version], seen: Seen, seq: int, clock: datetime) -> list[Version]:
    """The versions of one key after a step, oldest first."""
    kept = list(versions)
    newest = kept[-1] if kept else None
    gone = seen.gone or seen.row is None
    row = seen.row if seen.row is not None else newest.row if newest else None
    if row is None or (newest and newest.gone == gone and (gone or _text(newest.row) == _text(row))):
        return kept
    stamp = min(seen.told or clock, clock)
    begins = stamp
    if newest and stamp <= newest.begins:
        begins = max(clock, newest.begins + timedelta(microseconds=1))
    if newest:
        kept[-1] = replace(newest, ends=begins)
    return [*kept, Version(row, seq, begins, gone=gone)]


@dataclass
class FakeHistory:
    """The versions of each key, and the version of each table that they show."""

    versions: dict[Key, list[Version]] = field(default_factory=dict)
    shown: dict[str, int] = field(default_factory=dict)
    past: dict[int, dict[Key, list[Version]]] = field(default_factory=dict)
    """The versions after each sequence."""
    files: int = 0
    named: dict[str, int] = field(default_factory=dict)
    """The version of each table up to which renames have been followed."""

    def renamed(self, table_id: str, at: RenamedAt) -> None:
        """Every version has the values under the new names, by one commit that is made once."""
        if self.named.get(table_id, -1) >= at.version:
            return
        self.named[table_id] = at.version
        self.versions = {
            key: [_named(each, at.renames) for each in versions] for key, versions in self.versions.items()
        }

    @property
    def current(self) -> list[Row]:
        """Rows of the current versions."""
        return [version.row for all_of_one in self.versions.values() for version in all_of_one if version.is_current]


@dataclass(kw_only=True)
class FakeHistorian:
    """Implements `core.ports.LakeHistorian` over the tables of a lake."""

    tables: dict[TableId, DeltaTable] = field(default_factory=dict)
    histories: dict[TableId, FakeHistory] = field(default_factory=dict)
    small_files: int = 1
    by_tasks: bool = True
    """Whether files are compacted by tasks."""
    """Files of 1,000 bytes that each commit leaves."""
    meanwhile: Callable[[str], None] = nothing
    """Is told "before history commit" and "after history commit"."""

    def behind(self, spec: TableSpec) -> Step | None:
        """By the log of the copy, and what the history shows of it."""
        table = self.tables.get(spec.id)
        if table is None:
            return None
        history = self.histories.get(spec.id)
        shown = history.shown.get(table.table_id) if history else None
        commits = [_commit(version, entry) for version, entry in enumerate(table.log)]
        landed = table.landed or table.cleaned
        return next_step(Copy(table.version, landed, shown, tuple(reversed(commits))))

    def follow(self, spec: TableSpec, step: Step, run_id: str) -> HistoryRows:
        """In one commit, which is refused where the history already shows the step."""
        table, history = self.tables[spec.id], self.histories.setdefault(spec.id, FakeHistory())
        if step.renames:
            self.meanwhile("before history commit")
        for each in step.renames:
            history.renamed(table.table_id, each)
        if not step.has_rows:
            history.shown[table.table_id] = step.version
            return HistoryRows()
        if step.restores is not None:
            # One that began later has nothing to go back to: its versions go on.
            of_then = max((seq for seq in history.past if seq <= step.restores), default=None)
            history.versions = dict(history.versions if of_then is None else history.past[of_then])
        found = {key_of(spec, row): row for row in table.rows if step.whole or row["_sync_seq"] == step.seq}
        keys = [*found, *(key for key in history.versions if key not in found)] if step.whole else [*found]
        changed = {
            key: followed(history.versions.get(key, ()), _seen(spec, found.get(key)), step.seq, step.clock)
            for key in keys
        }
        self.meanwhile("before history commit")
        if history.shown.get(table.table_id, -1) < step.version:
            history.versions |= changed
            history.shown[table.table_id] = step.version
            history.past[step.seq] = dict(history.versions)
            history.files += self.small_files
        self.meanwhile("after history commit")
        if history.shown[table.table_id] < step.version:
            raise CommitMissing(f"{spec.id}: the history does not show version {step.version}")
        return HistoryRows(len(changed), version=step.version)

    def layout_of_history(self, spec: TableSpec) -> Layout:
        """Its files."""
        history = self.histories.get(spec.id, FakeHistory())
        rows = sum(len(found) for found in history.versions.values())
        return Layout((1000,) * history.files, rows, rows, self.by_tasks)

    def compact_history(self, spec: TableSpec, how: How, run_id: str, state: State) -> int:
        """One file of them all."""
        history = self.histories[spec.id]
        self.meanwhile("before history commit")
        history.files = 1
        self.meanwhile("after history commit")
        return len(history.past)

    def differing_versions(self, spec: TableSpec) -> FaultyKeys | None:
        """Against the copy as it is."""
        history = self.histories.get(spec.id)
        if history is None:
            return None
        there = {key_of(spec, row): own_columns(row) for row in self.tables[spec.id].rows if is_live(row)}
        current = {key_of(spec, row): row for row in history.current}
        return _faulty(key for key in {*there, *current} if there.get(key) != current.get(key))

    def overlapping_versions(self, spec: TableSpec) -> FaultyKeys | None:
        """Each version but the newest ends where the next one begins, and after its own begin."""
        history = self.histories.get(spec.id)
        return None if history is None else _faulty(key for key, found in history.versions.items() if overlaps(found))


def overlaps(versions: Iterable[Version]) -> bool:
    """Whether versions of one key overlap, are empty, or leave a gap."""
    in_turn = sorted(versions, key=lambda version: version.begins)
    following = [*(version.begins for version in in_turn[1:]), None][: len(in_turn)]
    chained = [version.ends for version in in_turn] == following
    return not chained or any(version.ends is not None and version.ends <= version.begins for version in in_turn)


def _text(row: Row) -> str:
    """-0.0 and 0.0 are two values."""
    return repr(sorted(row.items()))


def _faulty(keys: Iterable[Key]) -> FaultyKeys:
    found = [str(key) for key in keys]
    return FaultyKeys(len(found), tuple(found[:10]))


def _seen(spec: TableSpec, row: Row | None) -> Seen:
    if row is None:
        return Seen(None)
    marked = row.get("_sync_deleted_at")
    return Seen(own_columns(row), marked if isinstance(marked, datetime) else _told(spec, row), not is_live(row))


def _named(version: Version, renames: tuple[Rename, ...]) -> Version:
    return replace(version, row={name_after(renames, name): value for name, value in version.row.items()})


def _told(spec: TableSpec, row: Mapping[str, object]) -> datetime | None:
    value = cursor_of(spec, row)
    return value.moment() if value is not None and value.type.is_time and value.is_finite else None


def _commit(version: int, entry: LogEntry) -> CopyCommit:
    seq, batch_id = (entry.commit_ids.seq, entry.commit_ids.batch_id) if entry.commit_ids else (-1, "")
    clock = (entry.state.clock if entry.state else None) or _EPOCH
    changed = entry.state.changed if entry.operation == "RENAME" and entry.state else ()
    renamed = tuple(filter(None, map(Rename.from_change, changed)))
    return CopyCommit(version, seq, batch_id, clock, "UTC", _effect(entry), entry.rolled_back_to, renamed)


def _effect(entry: LogEntry) -> Effect:
    if not entry.ours:
        return Effect.FOREIGN if entry.changes_rows else Effect.NONE
    if not entry.changes_rows:
        return Effect.NONE
    if entry.operation != "WRITE" or entry.counts is None:
        return Effect.MORE
    return Effect.TAKING if entry.counts.deleted else Effect.BATCH
