"""The steps of an erasure in their order. Each can be called again after whatever ended the one before."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import pyarrow as pa
import pyarrow.parquet as pq

from incremental_assets.adapters.delta.beside import recorded
from incremental_assets.adapters.delta.commit_metadata import CommitMetadata, Kind
from incremental_assets.adapters.delta.erased import LakeErasures
from incremental_assets.adapters.delta.log.transaction_log import TableLog, open_log
from incremental_assets.adapters.delta.storage import commit_lock
from incremental_assets.adapters.erasure import in_files, parquet, rewriting
from incremental_assets.adapters.erasure.prover import Grounds, tombstones_of
from incremental_assets.adapters.erasure.redacting import Redacting
from incremental_assets.adapters.erasure.rewriting import Erasing
from incremental_assets.adapters.erasure.search import Search
from incremental_assets.core.errors import LakeRefused
from incremental_assets.core.model.as_copied import source_name
from incremental_assets.core.model.erased import ErasedKeys, ErasureKey, typed_text
from incremental_assets.core.model.paths import erased_path, quarantine_path, staging_path, table_path
from incremental_assets.core.model.state import State
from incremental_assets.core.model.subject import Subject
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.planning.plan import CommitIds
from incremental_assets.core.planning.target import AsLeft


@dataclass
class Eraser:
    """Of one table; used under its lease."""

    grounds: Grounds
    spec: TableSpec
    subjects: tuple[Subject, ...]
    key: ErasureKey
    removed: list[str] = field(default_factory=list)
    """Files that are gone."""

    @property
    def digests(self) -> list[str]:
        """The keys as the list of erased ones has them."""
        return [self.key.digest(each) for each in self._keys()]

    def keep_out(self) -> None:
        """The list of erased keys has them before anything goes: from here on no sync brings one back."""
        store, table, lake = self.grounds.store, self.spec.id, self.grounds.lake
        before = LakeErasures(lake, lambda: self.key).keys(table) or ErasedKeys(self.key, frozenset())
        places = before.places(self.spec)
        names = [source_name(self.spec, name) for name in self.spec.named_key]
        listed = replace(before, columns=tuple(names[place] for place in places))
        keys = [[key[place] for place in places] for key in self._keys()]
        path = erased_path(lake, table)
        store.own_folder(path.rpartition("/")[0])
        store.replace(path, listed.with_keys(keys).to_json().encode())

    def rewrite(self, state: State, run_id: str) -> AsLeft:
        """The quarantine, the copy and its history without the rows. Gives what the copy is after it."""
        lake, table = self.grounds.lake, self.spec.id
        quarantine = quarantine_path(lake, table)
        with commit_lock(lake, table):
            held = open_log(quarantine)
            if held is not None:
                ids = CommitIds(held.app_id, held.sequence, uuid.uuid4().hex)
                note = CommitMetadata(Kind.MAINTENANCE, ids.app_id, ids.seq, ids.batch_id, run_id, held.version)
                rewriting.rewrite(Erasing(quarantine, self.subjects, note))
            copy = open_log(table_path(lake, table))
            if copy is None:
                raise LakeRefused(f"{table}: its copy is gone from the lake")
            ids = CommitIds(copy.app_id, copy.sequence, uuid.uuid4().hex)
            note = recorded(copy).noted(CommitMetadata.of_maintenance(ids, run_id, state, copy.version))
            version = rewriting.rewrite(Erasing(table_path(lake, table), self.subjects, note))
        with commit_lock(lake, table.history):
            history = open_log(table_path(lake, table.history))
            if history is not None:
                ids = CommitIds(copy.app_id, copy.sequence, uuid.uuid4().hex)
                note = CommitMetadata.of_maintenance(ids, run_id, None, history.version)
                # It shows the copy as that is now: what the copy's log could tell of the way there goes.
                shows = (copy.table_id, version)
                rewriting.rewrite(Erasing(table_path(lake, table.history), self.subjects, note, shows))
        return AsLeft(copy.table_id, version, copy.sequence)

    def rewrite_former(self) -> None:
        """The same where the copy lay before. What is another table's now is left to whoever erases there."""
        lake, table, former = self.grounds.lake, self.spec.id, self.grounds.former
        shown: dict[str, int] = {}
        with commit_lock(lake, table):
            for path in former.copies:
                log = self._opened(path)
                last = next((each.note.state for each in log.ours() if each.note and each.note.state), None)
                state = None if last is None else replace(last, erased=True)
                ids = CommitIds(log.app_id, log.sequence, uuid.uuid4().hex)
                note = recorded(log).noted(CommitMetadata.of_maintenance(ids, "", state, log.version))
                shown[log.table_id] = rewriting.rewrite(self._erasing(path, note))
        with commit_lock(lake, table.history):
            for path in former.histories:
                log = self._opened(path)
                copy = next((each for each in shown if log.last_sequence(each) >= 0), None)
                newest = next((each.note for each in log.commits(-1) if each.note), None)
                ids = CommitIds(newest.app_id if newest else "", newest.seq if newest else -1, uuid.uuid4().hex)
                note = CommitMetadata.of_maintenance(ids, "", None, log.version)
                rewriting.rewrite(self._erasing(path, note, None if copy is None else (copy, shown[copy])))

    def remove_files(self) -> None:
        """What no last version names, and all that was staged."""
        for path in self._tables:
            self.removed += [f"{path}/{name}" for name in rewriting.remove_files(path)]
        staged = staging_path(self.grounds.lake, self.spec.id)
        self.removed += [f"{staged}/{name}" for name, _ in self.grounds.store.files_in(staged)]
        self.grounds.store.delete_prefix(staged)

    def remove_logs(self) -> None:
        """What logs said of versions before."""
        for path in self._tables:
            self.removed += [f"{path}/_delta_log/{name}" for name in rewriting.remove_log(path)]

    def remove_tombstones(self) -> None:
        """Keys that a topic has deleted, without these."""
        store, folder = self.grounds.store, tombstones_of(self.grounds)
        search = Search(self.subjects, self._placed())
        for name, _ in list(store.files_in(folder)):
            file = f"{folder}/{name}"
            rows = pq.read_table(pa.BufferReader(store.read(file)))
            mine = [each for batch in rows.to_batches() for each in parquet.keyed(batch, search)]
            if not any(mine):
                continue
            left = rows.filter(pa.array([not each for each in mine], pa.bool_()))
            fresh = f"{file.rpartition('/')[0]}/{uuid.uuid4().hex}.parquet"
            with store.new(store.unfinished(fresh)) as opened:
                pq.write_table(left, opened, compression="zstd")
            store.finish(fresh)
            store.delete(file)
            self.removed.append(file)

    def redact(self) -> None:
        """Texts of the checkpoint database, of Dagster's home and of logs of commands."""
        redacting = Redacting(Search(self.subjects, keyed=False), self.spec.id.name)
        redacting.checkpoints(self.grounds.checkpoints)
        for path in in_files.files_of(self.grounds.home):
            redacting.file(path)
        for path in in_files.logs_of_commands():
            if redacting.holds(path):
                path.unlink()
                self.removed.append(str(path))

    @property
    def steps(self) -> tuple[Callable[[], None], ...]:
        """What follows once the copy's new version is recorded."""
        return (self.rewrite_former, self.remove_files, self.remove_logs, self.remove_tombstones, self.redact)

    # --- helpers ----------------------------------------------------------------------------------

    @property
    def _tables(self) -> tuple[str, ...]:
        lake, table = self.grounds.lake, self.spec.id
        present = (quarantine_path(lake, table), table_path(lake, table), table_path(lake, table.history))
        return (*present, *self.grounds.former.ours)

    def _opened(self, path: str) -> TableLog:
        log = open_log(path)
        if log is None:
            raise LakeRefused(f"{path}: the copy that lay there is gone at this moment; erase again")
        return log

    def _erasing(self, path: str, note: CommitMetadata, shows: tuple[str, int] | None = None) -> Erasing:
        return Erasing(path, self.subjects, note, shows, self.grounds.source_names)

    def _keys(self) -> list[tuple[str, ...]]:
        kinds = {column.name: column.spark_type for column in self.spec.columns}
        return [tuple(typed_text(kinds[name], text) for name, text in subject.key) for subject in self.subjects]

    def _placed(self) -> Mapping[str, frozenset[str]]:
        return {name: frozenset({f"key{place}"}) for place, name in enumerate(self.spec.named_key)}
