"""A quarantine without Spark: rows staged by the task's own function, and tasks that are played in this process."""

from __future__ import annotations

import importlib
import pickle
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder

from incremental_assets.adapters.delta.quarantine import kept_rows, settling
from incremental_assets.adapters.delta.quarantine.unit import Came
from incremental_assets.adapters.delta.site import Site
from incremental_assets.adapters.delta.staging.arrow_staging import counting_of, trial_of
from incremental_assets.adapters.delta.staging.staging_task import StageUnit, apply
from incremental_assets.adapters.delta.target_table import opened
from incremental_assets.adapters.spark.manifest import record
from incremental_assets.adapters.spark.tasks import Unit
from incremental_assets.core.model.batch import Batch
from incremental_assets.core.model.contract import ColumnRules, Contract
from incremental_assets.core.model.paths import quarantine_path, table_path
from incremental_assets.core.model.table import TableSpec
from tests.adapters.batches import APP, Desk, table
from tests.adapters.test_contracted_batches import LiteralPart

CONTRACT = Contract(rules=(ColumnRules("note", nullable=False),), file="sources.yaml", line=7)
ORDERS = replace(table("id bigint, note string, at bigint"), contract=CONTRACT)
Row = tuple[object, ...]


class Here:
    """Does for the lake what `Tasks` does: what goes to a task and comes from it is plain."""

    def run(self, module: str, unit: Unit) -> Any:
        """The answer of one unit."""
        asked = pickle.loads(pickle.dumps(unit))
        return pickle.loads(pickle.dumps(importlib.import_module(module).apply(asked)))

    def run_all(self, module: str, units: Sequence[Unit]) -> list[Any]:
        """Those of several, one after the other."""
        return [self.run(module, unit) for unit in units]


class WithoutSpark:
    """A session that has settings and nothing else."""

    conf = SimpleNamespace(getAll={})


@dataclass(frozen=True)
class Counter:
    """One table, whose rows are all bad or say that what was bad is no more."""

    folder: Path
    spec: TableSpec = ORDERS

    @property
    def site(self) -> Site:
        """Nothing of Spark is there."""
        nothing: Any = WithoutSpark()
        here: Any = Here()
        return Site(nothing, here, self.lake)

    @property
    def lake(self) -> str:
        """Where it lies."""
        return str(self.folder / "lake")

    def keep(self, seq: int, rows: Sequence[Row]) -> None:
        """Rows that break the contract are put into quarantine."""
        plan = Desk(self.folder, None).plan(self.spec, seq=seq)  # type: ignore[arg-type]
        staged, held = self._staged(seq, rows)
        batch = Batch(f"batch{seq}", len(rows), "", rejected=held, held=held)
        kept_rows.keep(self.site, plan, batch, staged)

    def copy(self) -> None:
        """An empty one is made."""
        opened(self.site.session, table_path(self.lake, self.spec.id), self.spec, APP)

    def settle(self, seq: int, rows: Sequence[Row]) -> None:
        """What the same batch says of rows that are held is done."""
        staged, _ = self._staged(seq, rows)
        settling.settle(self.site, Came(self.spec, staged, overwrites=False, seq=seq))

    def _staged(self, seq: int, rows: Sequence[Row]) -> tuple[str, int]:
        folder = self.folder / f"staged{seq}"
        folder.mkdir(exist_ok=True)
        plan = Desk(self.folder, None).plan(self.spec, seq=seq)  # type: ignore[arg-type]
        types = tuple(column.spark_type for column in self.spec.columns)
        unit = StageUnit(
            LiteralPart(tuple(rows)), types, counting_of(plan), str(folder / "part.parquet"), trial_of(self.spec)
        )
        held = apply(unit).held
        record(str(folder))
        return str(folder), held

    def rows(self) -> list[tuple[Any, ...]]:
        """Per row of the quarantine its key, its cursor, its sequence and how it came to be held no more; by another reader."""
        path = quarantine_path(self.lake, self.spec.id)
        found = QueryBuilder().register("t", DeltaTable(path))
        sql = 'SELECT id, at, "_sync_seq", "_sync_resolution", "_sync_resolved_at" IS NOT NULL AS done FROM t'
        return sorted(
            (tuple(row.values()) for row in pa.table(found.execute(sql).read_all()).to_pylist()),
            key=lambda row: row[:3],
        )

    def files(self) -> set[str]:
        """Names of what lies in the quarantine's folder."""
        return {path.name for path in Path(quarantine_path(self.lake, self.spec.id)).iterdir() if path.is_file()}
