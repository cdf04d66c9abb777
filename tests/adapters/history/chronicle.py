"""A desk whose table keeps a history, and what the rule, told row by row, makes of the same steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from incremental_assets.core.model.cursor import CursorType
from incremental_assets.core.model.deletes import IGNORED, Deletes
from incremental_assets.core.model.history import VALID_FROM, VALID_TO, History, HistoryRows
from incremental_assets.core.model.paths import table_path
from incremental_assets.core.model.table import Cursor, TableSpec
from incremental_assets.core.planning.plan import Mode, SyncPlan
from incremental_assets.core.syncing.following import follow
from tests.adapters.batches import CLOCK, Desk, Row, table
from tests.fakes.history import Seen, Version, followed

DDL = "id bigint, note string, price double, at bigint, changed timestamp"


def at(hours: float) -> datetime:
    """Hours after the desk's clock."""
    return CLOCK + timedelta(hours=hours)


@dataclass
class Chronicle(Desk):
    """Each sync an hour after the one before; `rule`: the versions of each key as they have to be, `stamps`: whether rows tell a time."""

    kind: History = History.SCD2
    stamps: bool = True
    now: float = 0
    ddl: str = DDL
    deletes: Deletes = IGNORED
    rule: dict[object, list[Version]] = field(default_factory=dict)

    @property
    def landing(self) -> TableSpec:
        """As rows land: by `at`."""
        return replace(table(self.ddl), history=self.kind, widens=True, deletes=self.deletes)

    @property
    def spec(self) -> TableSpec:
        """As the history reads it: by the time at which a row says that it was changed."""
        cursor = Cursor("changed", CursorType.TIMESTAMP)
        return replace(self.landing, cursor=cursor) if self.stamps else self.landing

    def plan(
        self, spec: TableSpec, mode: Mode = Mode.SYNC, seq: int | None = None, late_below: int | None = None
    ) -> SyncPlan:
        """At the time of now."""
        found = super().plan(spec, mode, seq, late_below)
        return replace(found, reading=replace(found.reading, bound=replace(found.reading.bound, clock=at(self.now))))

    def sync(self, rows: Sequence[Row], *, gone: Sequence[object] = (), mode: Mode = Mode.SYNC) -> HistoryRows | None:
        """Land a batch, and follow."""
        self.now += 1
        self.land(self.landing, rows, gone=gone, mode=mode)
        return self.follow()

    def follow(self) -> HistoryRows | None:
        """What a sync does after it has landed, and the next one before it begins."""
        step = self.lake.behind(self.spec)
        done = follow(self.spec, "run", self.lake)
        if step is not None:
            self._follow_the_rule(step.seq)
        return done

    def versions(self) -> dict[object, list[Version]]:
        """As the history holds them, oldest first."""
        order = VALID_FROM if self.kind is History.SCD2 else "_sync_seq"
        found: dict[object, list[Version]] = {}
        for each in self.spark.read.format("delta").load(self.history).orderBy(order).collect():
            told = each.asDict()
            row = {name: told[name] for name in self.spec.shape.names}
            begins, ends = (_utc(told.get(name)) for name in (VALID_FROM, VALID_TO))
            version = Version(row, told["_sync_seq"], begins or CLOCK, ends, told["_sync_deleted"])
            found.setdefault(told["id"], []).append(version)
        return found

    @property
    def history(self) -> str:
        """Where it lies."""
        return table_path(str(self.folder), self.spec.id.history)

    def _follow_the_rule(self, seq: int) -> None:
        there = {row[0]: dict(zip(self.spec.shape.names, row, strict=True)) for row in self.rows(self.spec)}
        for key in {*there, *self.rule}:
            row = there.get(key)
            told = row["changed"].astimezone(CLOCK.tzinfo) if row and row["changed"] and self.stamps else None
            seen = Seen(row, told)
            self.rule[key] = followed(self.rule.get(key, ()), seen, seq, at(self.now))


def _utc(moment: datetime | None) -> datetime | None:
    return moment.astimezone(CLOCK.tzinfo) if moment else None
