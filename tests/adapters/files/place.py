"""A folder, a configuration and a real lake: what is synced between them by the whole product."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

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

HEAD = """\
lake: ./lake
checkpoints: sqlite:///checkpoints.db
sources:
  drop:
    dialect: files
    folder: ./in
"""


@dataclass
class Place:
    """What a test has."""

    home: Path
    spark: SparkSession

    def configure(self, text: str) -> None:
        (self.home / "in").mkdir(exist_ok=True)
        (self.home / "sources.yaml").write_text(HEAD + text)

    def put(self, name: str, content: str | bytes) -> None:
        """A file, in place of the one of that name."""
        path = self.home / "in" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = self.home / "unfinished"
        unfinished.write_bytes(content.encode() if isinstance(content, str) else content)
        unfinished.rename(path)

    @contextmanager
    def runtime(self) -> Iterator[Runtime]:
        """What a new process knows."""
        given: Any = Given(self.spark)
        runtime = Runtime(load(self.home / "sources.yaml"), given)
        try:
            yield runtime
        finally:
            runtime.close()

    def spec(self, name: str = "orders") -> TableSpec:
        with self.runtime() as runtime:
            found = runtime.specs("drop")
            for each in found.problems:
                raise each.error
        return next(spec for spec in found.specs if spec.id.name == name)

    def sync(
        self, name: str = "orders", process: Process | None = None, mode: Mode = Mode.SYNC, **more: Any
    ) -> SyncReport:
        with self.runtime() as runtime:
            ports, spec = runtime.ports("drop"), self.spec(name)
            if process is not None:
                watched = {
                    each: Watched(getattr(ports, each), process)
                    for each in ("probe", "source", "stage", "lake", "checkpoints")
                }
                ports = replace(ports, **watched)  # type: ignore[arg-type]
            return sync_table(spec, Request(str(uuid.uuid4()), mode, **more), ports)

    def rows(self, name: str = "orders") -> list[dict[str, Any]]:
        """The copy, by Spark."""
        frame = self.spark.read.format("delta").load(str(self.home / f"lake/drop/shop/{name}"))
        found = [own_columns(row.asDict()) for row in frame.collect()]
        return sorted(found, key=lambda row: (row["_file"], row["_file_row"]))

    def quarantined(self, name: str = "orders") -> list[tuple[Any, ...]]:
        """File, number, column and reason, and what the row had."""
        frame = self.spark.read.format("delta").load(str(self.home / f"lake/_quarantine/drop/shop/{name}"))
        told = ("_file", "_file_row", "_sync_column", "_sync_reason", "id")
        return sorted(tuple(row[each] for each in told) for row in frame.collect())
