"""Batches of literal rows, staged and landed by the real stage and lake, without a source."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from incremental_assets.adapters.delta.lake import DeltaLake
from incremental_assets.adapters.delta.staging.stage import ParquetStage
from incremental_assets.adapters.spark.own_names import OPERATION
from incremental_assets.adapters.spark.staged import FLAGS
from incremental_assets.core.captures.database.bound import Bound
from incremental_assets.core.captures.database.landed_state import landed_state
from incremental_assets.core.captures.database.reading import DatabaseReading
from incremental_assets.core.captures.database.settled_bound import Settled
from incremental_assets.core.model.batch import Batch
from incremental_assets.core.model.column import Column, Fidelity
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.fingerprint import Fingerprint
from incremental_assets.core.model.guarantee import Guarantee
from incremental_assets.core.model.paths import quarantine_path, table_path
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import Cursor, Strategy, TableSpec
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.model.table_shape import TableShape
from incremental_assets.core.model.window import Window
from incremental_assets.core.planning.plan import CommitIds, Mode, Request, SyncPlan
from incremental_assets.core.planning.target import Commit
from tests.snapshots import as_read

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

CLOCK = datetime(2026, 1, 1, tzinfo=UTC)
APP = "0b7e7a52-0000-4000-8000-000000000001"
Row = tuple[Any, ...]


def columns(ddl: str) -> tuple[Column, ...]:
    """`id bigint, note string`: name and Spark type of each; a name may hold anything but `, `."""
    pairs = [part.rsplit(" ", 1) for part in ddl.split(", ")]
    return tuple(Column(name, kind, kind, Fidelity.EXACT) for name, kind in pairs)


def table(
    ddl: str,
    strategy: Strategy = Strategy.UPSERT,
    *,
    key: Sequence[str] = ("id",),
    cursor: str = "at",
    enforced: bool = True,
) -> TableSpec:
    """The table `shop.public.orders`; its integer cursor is the column `cursor`, none where that is empty."""
    shape = TableShape(TableId("shop", "public", "orders"), columns(ddl))
    return TableSpec(shape, strategy, Cursor(cursor, CursorType.INTEGER) if cursor else None, tuple(key), enforced)


ORDERS = table("id bigint, note string, at bigint")
EVENTS = table("id bigint, note string, at bigint", Strategy.APPEND, key=(), enforced=False)


@dataclass(frozen=True)
class LiteralSnapshot:
    """A snapshot of literal rows."""

    frame: DataFrame
    rows: int
    rejected: int = 0
    nulls: int = 0
    highest: CursorValue | None = None
    fingerprint: Fingerprint | None = None
    waited: timedelta = timedelta()
    parts: None = None


@dataclass
class Desk:
    """One lake and one stage; sequences count up as in a real run."""

    folder: Path
    spark: SparkSession
    previous: State | None = None
    sequences: itertools.count[int] = field(default_factory=lambda: itertools.count(1))

    @property
    def lake(self) -> DeltaLake:
        """A lake that remembers nothing, as in a new process."""
        return DeltaLake(str(self.folder), lambda: self.spark)

    @property
    def stage(self) -> ParquetStage:
        """The stage beside it."""
        return ParquetStage(str(self.folder), lambda: self.spark)

    def plan(
        self, spec: TableSpec, mode: Mode = Mode.SYNC, seq: int | None = None, late_below: int | None = None
    ) -> SyncPlan:
        """The next sequence, unless one is given."""
        number = next(self.sequences) if seq is None else seq
        late = None if late_below is None else CursorValue(CursorType.INTEGER, str(late_below))
        return SyncPlan(
            spec=spec,
            request=Request(f"run-{number}", mode),
            commit_ids=CommitIds(APP, number, f"batch{number}"),
            reading=DatabaseReading(
                bound=Bound(CLOCK, None, "", None, "", "UTC", None),
                settled=Settled(None, Guarantee.SETTLED, ""),
                along=spec.cursor,
                late_below=late,
            ),
            previous=self.previous,
        )

    def show(
        self,
        spec: TableSpec,
        rows: Sequence[Row],
        late: Sequence[object] = (),
        bad: Sequence[object] = (),
        gone: Sequence[object] = (),
    ) -> LiteralSnapshot:
        """Rows as a read gives them; those whose first value is in `late` are flagged so, those with a value in `bad` are rejected.

        With `gone` it is a read that knows what became of each row: those with a value in it are no more.
        """
        schema = ", ".join(f"`{c.name.replace('`', '``')}` {c.spark_type}" for c in spec.columns)
        flags = f"{FLAGS[0]} string, {FLAGS[1]} string, {FLAGS[2]} string, {FLAGS[3]} boolean"
        told = [(*row, *_rejection(spec, row, bad), row[0] in late) for row in rows]
        if gone:
            flags += f", {OPERATION} string"
            told = [(*each, "gone" if set(row) & set(gone) else "put") for row, each in zip(rows, told, strict=True)]
        return LiteralSnapshot(
            self.spark.createDataFrame(told, f"{schema}, {flags}"), len(rows), highest=self._highest(spec, rows)
        )

    def land(
        self,
        spec: TableSpec,
        rows: Sequence[Row],
        *,
        mode: Mode = Mode.SYNC,
        late: Sequence[object] = (),
        bad: Sequence[object] = (),
        gone: Sequence[object] = (),
        window: tuple[int | None, int | None] = (None, None),
    ) -> Commit:
        """Stage and apply, as a sync does that reads the window `[lower, upper)`."""
        plan, shown = self.plan(spec, mode), self.show(spec, rows, late, bad, gone)
        lower, upper = (None if end is None else CursorValue(CursorType.INTEGER, str(end)) for end in window)
        plan = replace(plan, reading=replace(plan.reading, window=Window(lower, upper)))
        return self.apply(plan, self.stage.write(plan, shown), shown)

    def apply(self, plan: SyncPlan, batch: Batch, shown: LiteralSnapshot) -> Commit:
        """One commit; its state is what the next plan goes on from."""
        state = landed_state(plan, as_read(shown.rows, shown.highest, None))
        commit = self.lake.apply(plan, batch, state)
        self.previous = state
        return commit

    def loading(self, spec: TableSpec) -> SyncPlan:
        """The next two sequences: the rows', and their position's."""
        below = next(self.sequences)
        plan = self.plan(spec)
        return replace(plan, commit_ids=replace(plan.commit_ids, load_seq=below))

    def rows(self, spec: TableSpec) -> list[Row]:
        """The source's columns of every row of the target, ordered by their texts."""
        table = self.read(spec)
        own = [name for name in table.columns if not name.startswith("_sync_")]
        return sorted(
            (tuple(row) for row in table.select(*(f"`{name.replace('`', '``')}`" for name in own)).collect()), key=str
        )

    def read(self, spec: TableSpec) -> DataFrame:
        """The target."""
        return self.spark.read.format("delta").load(self.path(spec))

    def quarantined(self, spec: TableSpec) -> list[dict[str, Any]]:
        """Rows of the quarantine."""
        return [
            row.asDict()
            for row in self.spark.read.format("delta").load(quarantine_path(str(self.folder), spec.id)).collect()
        ]

    def sql(self, statement: str, spec: TableSpec) -> None:
        """What another writer does; `{t}` is the target."""
        self.spark.sql(statement.replace("{t}", f"delta.`{self.path(spec)}`")).collect()

    def other_hand(self, operation: str, spec: TableSpec, *actions: dict[str, Any]) -> None:
        """A commit that says what it did, and what it does besides."""
        log = Path(self.path(spec)) / "_delta_log"
        version = 1 + max(int(path.stem) for path in log.glob("*.json"))
        info = {"timestamp": 1, "operation": operation, "operationParameters": {}, "engineInfo": "by hand"}
        (log / f"{version:020d}.json").write_text("\n".join(map(json.dumps, [{"commitInfo": info}, *actions])))

    def path(self, spec: TableSpec) -> str:
        """Where the target lies."""
        return table_path(str(self.folder), spec.id)

    @staticmethod
    def _highest(spec: TableSpec, rows: Sequence[Row]) -> CursorValue | None:
        if spec.cursor is None:
            return None
        place = spec.shape.names.index(spec.cursor.column)
        values = [row[place] for row in rows if row[place] is not None]
        return CursorValue(CursorType.INTEGER, str(max(values))) if values else None


def _rejection(spec: TableSpec, row: Row, bad: Sequence[object]) -> Row:
    """Column, reason and texts of a row that the source rejects; three times None of any other."""
    if not set(row) & set(bad):
        return (None, None, None)
    texts = {name: None if value is None else str(value) for name, value in zip(spec.shape.names, row, strict=True)}
    return (spec.shape.names[1], "it cannot land", json.dumps(texts))
