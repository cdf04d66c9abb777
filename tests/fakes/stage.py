"""Staged batches in memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from incremental_assets.core.errors import StageBroken
from incremental_assets.core.model.batch import Batch, Operation
from incremental_assets.core.model.cursor import CursorValue
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.planning.plan import SyncPlan
from incremental_assets.core.ports import GoneRows, Snapshot
from tests.fakes.rows import Row, breaks, cursor_of, digest, is_gone, key_of, rejected


def nothing(moment: str) -> None:
    """A moment at which nothing happens."""


@dataclass
class FakeStage:
    """Keeps the rows of each batch. `loses` rows vanish while they are written, which the verification must notice."""

    batches: dict[tuple[TableId, str], list[Row]] = field(default_factory=dict)
    moment: Callable[[str], None] = nothing
    """Told "staging" when half of a batch is written."""
    loses: int = 0
    keeps_out: bool = False
    """Whether there is a list of erased keys."""

    def write(self, plan: SyncPlan, snapshot: Snapshot, gone: GoneRows | None = None) -> Batch:
        """Half, then whole, then verified against the snapshot's own count."""
        place, rows = (plan.spec.id, plan.commit_ids.batch_id), [*snapshot.frame, *_gone(plan.spec, gone)]
        self.batches[place] = rows[: len(rows) // 2]
        self.moment("staging")
        self.batches[place] = rows[self.loses :]
        self.verify(plan, snapshot.rows + (gone.rows if gone else 0))
        reasons = [rejected(plan, row) for row in rows]
        fit = [row for row, reason in zip(rows, reasons, strict=True) if not reason]
        there = [row for row in fit if not is_gone(plan.spec, row)]
        good = [row for row in there if not breaks(plan.spec, row)]
        held = len(there) - len(good)
        keys = [key_of(plan.spec, row) for row in good] if plan.spec.key else []
        return Batch(
            batch_id=plan.commit_ids.batch_id,
            rows=len(self.batches[place]),
            digest=digest(self.batches[place]),
            lower=_lowest(plan.spec, good),
            rejected=len(rows) - len(fit) + held,
            held=held,
            gone=len(fit) - len(there),
            duplicates=len(keys) - len(set(keys)),
            keeps_out=self.keeps_out,
        )

    def verify(self, plan: SyncPlan, counted: int) -> None:
        """Raises StageBroken unless as many rows were written as the source counted."""
        found = len(self.batches[plan.spec.id, plan.commit_ids.batch_id])
        if found != counted:
            raise StageBroken(f"{plan.spec.id}: {found} rows were staged where the source counted {counted}")

    def read(self, table: TableId, batch: Batch) -> list[Row]:
        """The rows of a batch. Raises StageBroken when it is gone or is not what was staged."""
        rows = self.batches.get((table, batch.batch_id))
        if rows is None or digest(rows) != batch.digest:
            raise StageBroken(f"{table}: the staged batch {batch.batch_id} is not what was staged")
        return rows

    def discard(self, table: TableId, batch_id: str) -> tuple[str, ...]:
        """Silent if there is none."""
        self.batches.pop((table, batch_id), None)
        return ()


def _gone(spec: TableSpec, gone: GoneRows | None) -> list[Row]:
    if gone is None or not gone.rows:
        return []
    return [{**dict.fromkeys(spec.shape.names), **row, "_sync_op": Operation.GONE.value} for row in gone.keys]


def _lowest(spec: TableSpec, rows: list[Row]) -> CursorValue | None:
    values = [cursor_of(spec, row) for row in rows]
    known = [value for value in values if value is not None]
    return min(known) if known and len(known) == len(values) else None
