"""A real database, a real lake and the product's own sync between them, in this process: what every scenario plays on.

Each sync is a process of its own as far as the product can tell: a new runtime that remembers nothing.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Context, Decimal
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic

from typing_extensions import TypeVar

from incremental_assets import load
from incremental_assets.core.checks.reconcile import reconcile
from incremental_assets.core.checks.remember import remember
from incremental_assets.core.checks.repair import Repaired, repair_table
from incremental_assets.core.checks.run_checks import Scope, audit
from incremental_assets.core.config.terms import terms_of
from incremental_assets.core.maintenance.reset import reset_table
from incremental_assets.core.model.cursor import CursorValue
from incremental_assets.core.model.partition import Grid
from incremental_assets.core.model.paths import quarantine_path, staging_path
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.model.verdict import Verdict
from incremental_assets.core.model.verified import Verified
from incremental_assets.core.model.window import Window
from incremental_assets.core.observing.observers import Observers
from incremental_assets.core.planning.events import Event
from incremental_assets.core.planning.plan import Mode, Request
from incremental_assets.core.planning.report import Status, SyncReport
from incremental_assets.core.ports import Ports
from incremental_assets.core.syncing.sync_many import sync_many
from incremental_assets.resources.runtime import Runtime
from tests.fakes.recorder import Recorder
from tests.shop import Place, Shop

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from incremental_assets.resources.spark import SparkResource

_DIGITS = Context(prec=1000)

P = TypeVar("P", bound=Place, default=Shop)

Through = Callable[[Ports], Ports]
"""What a scenario puts between the sync and its ports: faults, pauses."""


class Given:
    """The one session of the whole run, where a runtime looks for its own."""

    def __init__(self, session: SparkSession) -> None:
        self._session = session
        self.is_open = True
        self.lost = None

    def session(self) -> SparkSession:
        return self._session

    def close(self) -> None:
        """It belongs to the run, and outlives the runtime."""


@dataclass
class Stand(Generic[P]):
    """One database, one configuration, one lake."""

    shop: P
    spark: SparkSession
    told: Recorder = field(default_factory=Recorder)
    """Of every sync so far."""

    # --- syncs ------------------------------------------------------------------------------------

    @contextmanager
    def runtime(self) -> Iterator[Runtime]:
        """What a new process knows: the configuration."""
        session: Any = Given(self.spark)
        given: SparkResource = session
        runtime = Runtime(load(self.shop.config), given)
        runtime.observer = Observers(self.told)
        try:
            yield runtime
        finally:
            runtime.close()

    def sync(
        self,
        *names: str,
        mode: Mode = Mode.SYNC,
        window: Window | None = None,
        allow_shrink: bool = False,
        through: Through | None = None,
    ) -> dict[str, SyncReport]:
        """One sync of these tables, of all without a name; a report for each, also for those that failed. No exception leaves it but a kill."""
        with self.runtime() as runtime:
            resolved = runtime.specs("shop")
            specs = [spec for spec in resolved.specs if not names or spec.id.name in names]
            assert {spec.id.name for spec in specs} >= set(names), [str(problem.error) for problem in resolved.problems]
            ports = runtime.ports("shop")
            run_id = str(uuid.uuid4())
            reports = sync_many(
                specs,
                lambda spec: Request(run_id, mode, window, allow_shrink),
                through(ports) if through else ports,
                parallel=4,
            )
        return {report.table.name: report for report in reports}

    def land(self, *names: str, **options: Any) -> dict[str, SyncReport]:
        """As `sync`, which must end well for every table."""
        reports = self.sync(*names, **options)
        broken = {name: report.error for name, report in reports.items() if report.error}
        assert not broken, broken
        return reports

    def settled(self, name: str) -> CursorValue:
        """Sync until there is a watermark: an integer waits for all that was open beside it, and for the guard of two seconds."""
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            mark = self.land(name)[name].new_watermark
            if mark is not None:
                return mark
            time.sleep(0.2)
        raise AssertionError(f"{name} never settles")

    def reset(self, name: str, to: Any = None) -> None:
        """As the command does."""
        with self.runtime() as runtime:
            reset_table(spec=self.spec(name), to=to, run_id=str(uuid.uuid4()), checkpoints=runtime.checkpoints)

    def check(self, name: str) -> int:
        """Drifted rows that a check of the whole table finds, and remembers."""
        with self.runtime() as runtime:
            spec, ports = self.spec(name), runtime.ports("shop")
            drift = reconcile(spec, self._grid(name), ports)
            remember(spec, drift, runtime.checkpoints)
        return drift.rows

    def verdicts(self, name: str) -> list[Verdict]:
        """Of all checks of a table, as `check` runs them."""
        source = load(self.shop.config).source("shop")
        with self.runtime() as runtime:
            ports = runtime.ports("shop")
            return list(audit([self.spec(name)], Scope(parallel=1), partial(terms_of, source), ports))

    def repair(self, name: str, *, through: Through | None = None) -> Repaired:
        """As the command does."""
        with self.runtime() as runtime:
            ports = runtime.ports("shop")
            return repair_table(
                self.spec(name), self._grid(name), str(uuid.uuid4()), through(ports) if through else ports
            )

    def settled_at(self, name: str) -> CursorValue | None:
        """The watermark, as the checkpoint table has it."""
        with self.runtime() as runtime:
            state = runtime.checkpoints.position(self._id(name)).state
        return state.position.watermark if state else None

    def verified(self, name: str) -> Verified:
        """What is known of the copy's equality."""
        with self.runtime() as runtime:
            return runtime.checkpoints.verified()[self._id(name)]

    def _id(self, name: str) -> TableId:
        return TableId("shop", self.shop.schema, name)

    def _grid(self, name: str) -> Grid | None:
        return terms_of(load(self.shop.config).source("shop"), self._id(name)).partitions

    def spec(self, name: str) -> TableSpec:
        """The table as it would be synced now."""
        with self.runtime() as runtime:
            resolved = runtime.specs("shop")
            found = [spec for spec in resolved.specs if spec.id.name == name]
            assert found, [str(problem.error) for problem in resolved.problems]
            return found[0]

    # --- both sides -------------------------------------------------------------------------------

    def execute(self, *statements: str) -> None:
        """In the source, each in a transaction of its own."""
        self.shop.execute(*statements)

    def source(self, query: str) -> list[tuple[Any, ...]]:
        """Rows of the source, ordered; stamps with a zone as the moment in UTC without one, as the lake shows them."""
        return sorted((tuple(plain(value) for value in row) for row in self.shop.rows(query)), key=repr)

    def copy(self, name: str, *columns: str, schema: str = "") -> list[tuple[Any, ...]]:
        """Rows of the copy, ordered, without the columns that a sync adds."""
        frame = self.spark.read.format("delta").load(
            str(self.shop.folder / "lake" / "shop" / (schema or self.shop.schema) / name)
        )
        chosen = columns or tuple(column for column in frame.columns if not column.startswith("_sync_"))
        rows = frame.select(*(f"`{column.replace('`', '``')}`" for column in chosen)).collect()
        return sorted((tuple(plain(value) for value in row) for row in rows), key=repr)

    def assert_equal(self, name: str, query: str = "") -> None:
        """The copy holds the source's rows and no others, each once. For an append target: rows that never change."""
        truth, copy = self.source(query or f'SELECT * FROM "{name}"'), self.copy(name)
        missing = [row for row in truth if row not in copy][:3] if truth != copy else []
        assert copy == truth, f"{name}: {len(copy)} rows in the lake and {len(truth)} in the source; missing {missing}"

    # --- what a run leaves ------------------------------------------------------------------------

    def events(self, name: str) -> list[Event]:
        """The checkpoint table's history of one table."""
        with self.runtime() as runtime:
            return [kept.event for kept in runtime.checkpoints.history(self._id(name), 10_000)]

    def kinds(self, name: str) -> list[str]:
        """The same, as the bare story."""
        return [str(event.kind) for event in self.events(name)]

    def quarantined(self, name: str) -> list[dict[str, Any]]:
        """Rows of the table's quarantine; none where there is no such table."""
        path = Path(quarantine_path(str(self.lake), self._id(name)))
        if not path.exists():
            return []
        return [row.asDict() for row in self.spark.read.format("delta").load(str(path)).collect()]

    def versions(self, name: str) -> list[int]:
        """Versions of the copy, as its log has them."""
        return sorted(int(path.stem) for path in (self.shop.lake(name) / "_delta_log").glob("*.json"))

    def assert_tidy(self, *names: str) -> None:
        """Nothing is left over: no staged batch, no lease, no sequence that nobody closed; and sequences only grew."""
        with self.runtime() as runtime:
            for name in names:
                table = self._id(name)
                batches = Path(staging_path(str(self.lake), table))
                assert not batches.exists() or list(batches.iterdir()) == [], f"{name}: staged batches are left over"
                beat = runtime.checkpoints.heartbeats().get(table)
                assert beat is None or beat.owner is None, f"{name}: {beat}"
                assert runtime.checkpoints.position(table).open is None, f"{name}: a sequence is still open"
                announced = [event.seq for event in self.events(name) if event.kind == "intent"]
                assert announced == sorted(set(announced)), f"{name}: sequences {announced}"

    @property
    def lake(self) -> Path:
        return self.shop.folder / "lake"


def plain(value: Any) -> Any:
    """A value as both sides can show it."""
    if isinstance(value, Decimal):
        # Exactly: the default context would round to 28 digits.
        return _DIGITS.plus(value).normalize(_DIGITS) if value.is_finite() else value
    if isinstance(value, bytearray | memoryview):
        return bytes(value)
    tz = getattr(value, "tzinfo", None)
    return value.replace(tzinfo=None) if tz is not None and hasattr(value, "astimezone") else value


def statuses(reports: dict[str, SyncReport]) -> dict[str, Status]:
    """How each table ended."""
    return {name: report.status for name, report in reports.items()}
