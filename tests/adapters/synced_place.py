"""A configuration and a real lake: what is synced by the whole product from a source that is no database."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from incremental_assets import load
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.planning.plan import Mode, Request
from incremental_assets.core.planning.report import SyncReport
from incremental_assets.core.syncing.sync import sync_table
from incremental_assets.resources.runtime import Runtime
from tests.conformance.stand import Given
from tests.fakes import Process
from tests.fakes.rows import own_columns
from tests.fakes.world import Watched

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass
class SyncedPlace:
    """A folder with the file, whose one source has the schema `shop`."""

    folder: Path
    spark: SparkSession
    source: ClassVar[str]
    """Its name in the file."""

    @contextmanager
    def runtime(self) -> Iterator[Runtime]:
        """What a new process knows."""
        given: Any = Given(self.spark)
        runtime = Runtime(load(self.folder / "sources.yaml"), given)
        try:
            yield runtime
        finally:
            runtime.close()

    def spec(self, name: str = "orders") -> TableSpec:
        with self.runtime() as runtime:
            found = runtime.specs(self.source)
            for each in found.problems:
                raise each.error
        return next(spec for spec in found.specs if spec.id.name == name)

    def sync(
        self, name: str = "orders", process: Process | None = None, mode: Mode = Mode.SYNC, **more: Any
    ) -> SyncReport:
        with self.runtime() as runtime:
            ports, spec = runtime.ports(self.source), self.spec(name)
            if process is not None:
                watched = {
                    each: Watched(getattr(ports, each), process)
                    for each in ("probe", "source", "stage", "lake", "checkpoints")
                }
                ports = replace(ports, **watched)  # type: ignore[arg-type]
            return sync_table(spec, Request(str(uuid.uuid4()), mode, **more), ports)

    def rows(self, name: str = "orders") -> list[dict[str, Any]]:
        """The copy, by Spark."""
        frame = self.spark.read.format("delta").load(str(self.folder / f"lake/{self.source}/shop/{name}"))
        return [own_columns(row.asDict()) for row in frame.collect()]

    def held(self, name: str, *columns: str) -> list[tuple[Any, ...]]:
        """Some columns of the quarantine, ordered; nothing where there is none."""
        path = self.folder / f"lake/_quarantine/{self.source}/shop/{name}"
        if not path.exists():
            return []
        frame = self.spark.read.format("delta").load(str(path))
        return sorted(tuple(row[each] for each in columns) for row in frame.collect())
