"""Commits the version of a table after the one that was read, unless another writer has committed it first."""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from incremental_assets.adapters.delta.commit_metadata import CommitMetadata
from incremental_assets.adapters.delta.confirmed import too_late
from incremental_assets.adapters.delta.log.checkpoint import checkpoint_if_due
from incremental_assets.adapters.delta.log.commit_file import ENGINE, put_if_absent
from incremental_assets.adapters.delta.log.log_state import LogState
from incremental_assets.adapters.delta.log.readable import store_for
from incremental_assets.core.errors import LakeRefused, Overtaken, StoreUnreachable
from incremental_assets.core.model.table import TableSpec


@dataclass(frozen=True, slots=True)
class NextVersion:
    """What is committed. `info`: what the history shows beside what every commit of ours says; `files`: those that this version alone names."""

    path: str
    state: LogState
    note: CommitMetadata
    info: Mapping[str, Any]
    actions: Sequence[Mapping[str, Any]]
    files: Sequence[str]
    transaction: tuple[str, int] | None = None
    """See `commit.Write`."""
    once: bool = True
    """Whether the table takes its sequence once. Of a commit that finds nothing to do when it comes again, it does not matter."""

    def commit(self, table: TableSpec) -> None:
        """Whatever another writer has done meanwhile is an obstacle: nothing is assumed to be harmless. Raises CommitMissing, Overtaken."""
        app_id, number = self._sequence
        if self.once and self.state.sequences.get(app_id, -1) >= number:
            self.discard()
            raise too_late(table)
        if not self.put():
            self.discard()
            raise Overtaken(
                f"{self.path}: another writer changed this table while sequence {self.note.seq} was being written, so nothing of it landed; run the sync again"
            )

    def put(self) -> bool:
        """The same without a judgement: False where this version is another writer's."""
        note, version = self.note, self.state.version + 1
        app_id, number = self._sequence
        now = time.time_ns() // 1_000_000
        about = {
            "timestamp": now,
            "readVersion": self.state.version,
            "isolationLevel": "Serializable",
            "userMetadata": note.to_json(),
            "engineInfo": ENGINE,
            "txnId": str(uuid.uuid4()),
        }
        transaction = {"appId": app_id, "version": number, "lastUpdated": now}
        said = [{"commitInfo": about | dict(self.info)}, *([{"txn": transaction}] if self.once else [])]
        if not put_if_absent(self.path, version, [*said, *self.actions]):
            return False
        checkpoint_if_due(self.path, version, self.state.checkpoint, self.state.properties)
        return True

    @property
    def _sequence(self) -> tuple[str, int]:
        return self.transaction or (self.note.app_id, self.note.seq)

    def discard(self) -> None:
        """Remove the files, once it is known that no version names them. Of a process that dies before it can do this, or may not, VACUUM removes them."""
        store = store_for(self.path)
        with suppress(LakeRefused, StoreUnreachable):
            for name in self.files:
                store.delete(f"{self.path}/{name}")
