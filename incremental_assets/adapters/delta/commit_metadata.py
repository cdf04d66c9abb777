"""What each of our commits records about itself, in the log's `userMetadata`."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from incremental_assets.core.captures.documents import state_of
from incremental_assets.core.model.batch import Batch
from incremental_assets.core.model.rename import Rename
from incremental_assets.core.model.state import State
from incremental_assets.core.planning.plan import CommitIds, Renaming, RollBack, SyncPlan

MARK = "incremental_assets"
VERSION = 1
QUARANTINE_SUFFIX = "/quarantine"
"""What follows the table's own app id in that of its quarantine."""


class Kind(StrEnum):
    """What a commit did with its batch."""

    UPSERT = "upsert"
    APPEND = "append"
    OVERWRITE = "overwrite"
    LOAD = "load"
    """The rows of a first load, which have no position yet."""
    LOADED = "loaded"
    """Their position."""
    FENCE = "fence"
    QUARANTINE = "quarantine"
    ROLLBACK = "rollback"
    """The rows of an earlier version again."""
    RENAME = "rename"
    """No rows: a column got another name."""
    MAINTENANCE = "maintenance"
    HISTORY = "history"
    """Versions, in the table beside the copy."""


BEFORE_LANDING = (Kind.FENCE, Kind.LOAD)
"""What is committed for a batch that has not landed, and may never land."""


@dataclass(frozen=True, slots=True)
class CommitMetadata:
    """The metadata of one commit. `seen` is the version up to which no other writer had changed rows when it was written."""

    kind: Kind
    app_id: str
    seq: int
    batch_id: str
    run_id: str
    seen: int
    rows: int = 0
    rejected: int = 0
    duplicates: int = 0
    state: State | None = field(default=None)
    rows_before: int | None = None
    """Rows of the target before an upsert that rewrote it completely; None for one that left the other rows in their files."""
    withdrawn: int = 0
    """Rows that an upsert took out of the target without one in their place: gone in the source, or in quarantine since."""
    gone: int = 0
    """Rows of the batch that only say so."""
    marked: int = 0
    """Rows that an upsert wrote again only to mark them as gone."""
    clock: datetime | None = None
    """The source's, before the snapshot of a batch."""
    rolled_back_to: int | None = None
    """The sequence whose rows are there again, for a rollback."""
    quarantine: int | None = None
    """The last version of the table's quarantine by then; None where there was none, or an earlier release wrote the commit."""
    history: int | None = None
    """The version of this table that its history showed by then; None where it showed none."""

    @property
    def landable(self) -> int:
        """Rows of the batch that can land."""
        return self.rows - self.rejected - self.gone - self.duplicates

    @property
    def renames(self) -> tuple[Rename, ...]:
        """What the commit has renamed; nothing for any that writes rows."""
        changed = self.state.changed if self.kind is Kind.RENAME and self.state else ()
        return tuple(filter(None, map(Rename.from_change, changed)))

    @classmethod
    def of_batch(
        cls, plan: SyncPlan, batch: Batch, state: State, seen: int, rows_before: int | None = None
    ) -> CommitMetadata:
        """The metadata of the commit that lands a batch."""
        strategy = Kind.OVERWRITE if plan.overwrites else Kind(plan.spec.strategy.value)
        kind, commit_ids = Kind.LOADED if batch.in_target else strategy, plan.commit_ids
        facts = (batch.rows, batch.rejected, batch.duplicates)
        names = (commit_ids.app_id, commit_ids.seq, commit_ids.batch_id, plan.request.run_id)
        return cls(kind, *names, seen, *facts, state, rows_before, gone=batch.gone, clock=plan.reading.clock)

    @classmethod
    def of_load(cls, plan: SyncPlan, rows: int, seen: int) -> CommitMetadata:
        """The metadata of the commit that lands the rows of a first load. Raises ValueError for a plan without a sequence for them."""
        commit_ids, sequence = plan.commit_ids, plan.commit_ids.load_seq
        if sequence is None:
            raise ValueError("only a first load has a sequence for its rows")
        return cls(Kind.LOAD, commit_ids.app_id, sequence, commit_ids.batch_id, plan.request.run_id, seen, rows)

    @classmethod
    def of_fence(cls, commit_ids: CommitIds, state: State | None, seen: int) -> CommitMetadata:
        """The metadata of a commit without rows."""
        return cls(Kind.FENCE, commit_ids.app_id, commit_ids.seq, commit_ids.batch_id, "", seen, state=state)

    @classmethod
    def of_rollback(cls, back: RollBack, state: State | None, seen: int) -> CommitMetadata:
        """The metadata of the commit that takes a table back."""
        commit_ids = back.commit_ids
        names = (commit_ids.app_id, commit_ids.seq, commit_ids.batch_id, back.run_id)
        return cls(Kind.ROLLBACK, *names, seen, state=state, rolled_back_to=back.seq)

    @classmethod
    def of_rename(cls, renaming: Renaming, state: State | None, seen: int) -> CommitMetadata:
        """The metadata of the commit that gives a column another name."""
        commit_ids = renaming.commit_ids
        names = (commit_ids.app_id, commit_ids.seq, commit_ids.batch_id, renaming.run_id)
        return cls(Kind.RENAME, *names, seen, state=state)

    @classmethod
    def of_maintenance(cls, commit_ids: CommitIds, run_id: str, state: State | None, seen: int) -> CommitMetadata:
        """The metadata of a commit that puts files together; `commit_ids` names the last sequence, since it has none of its own."""
        return cls(Kind.MAINTENANCE, commit_ids.app_id, commit_ids.seq, commit_ids.batch_id, run_id, seen, state=state)

    def as_setting(self) -> dict[str, str]:
        """The setting by which a session gives its commits this metadata. Each `$` is escaped: Spark replaces `${env:NAME}` in a setting, and a column may be called so."""
        return {"spark.databricks.delta.commitInfo.userMetadata": self.to_json().replace("$", "\\u0024")}

    def to_json(self) -> str:
        """One line."""
        document = {
            MARK: VERSION,
            "kind": self.kind,
            "app_id": self.app_id,
            "seq": self.seq,
            # Where a look at a table that stands still finds it.
            **({} if self.quarantine is None else {"quarantine": self.quarantine}),
            "batch_id": self.batch_id,
            "run_id": self.run_id,
            "seen": self.seen,
            "rows": self.rows,
            "rejected": self.rejected,
            "duplicates": self.duplicates,
            "state": json.loads(self.state.to_json()) if self.state else None,
            "rows_before": self.rows_before,
            "withdrawn": self.withdrawn,
            "gone": self.gone,
            "marked": self.marked,
            "clock": self.clock and self.clock.isoformat(),
        }
        if self.rolled_back_to is not None:
            document["rolled_back_to"] = self.rolled_back_to
        if self.history is not None:
            document["history"] = self.history
        return json.dumps(document, separators=(",", ":"), ensure_ascii=False)


def read_commit_metadata(text: Any) -> CommitMetadata | None:
    """The metadata of a commit; None if another writer made it, whatever its own metadata is."""
    try:
        document = json.loads(text)
        if not isinstance(document, dict) or MARK not in document:
            return None
        state = document["state"]
        return CommitMetadata(
            kind=Kind(document["kind"]),
            app_id=document["app_id"],
            seq=document["seq"],
            batch_id=document["batch_id"],
            run_id=document["run_id"],
            seen=document["seen"],
            rows=document["rows"],
            rejected=document["rejected"],
            duplicates=document["duplicates"],
            state=state_of(json.dumps(state)) if state else None,
            rows_before=document.get("rows_before"),
            withdrawn=document.get("withdrawn", 0),
            gone=document.get("gone", 0),
            marked=document.get("marked", 0),
            clock=datetime.fromisoformat(document["clock"]) if document.get("clock") else None,
            rolled_back_to=document.get("rolled_back_to"),
            quarantine=document.get("quarantine"),
            history=document.get("history"),
        )
    except (TypeError, ValueError, KeyError):
        return None
