"""A cluster, a configuration and a real lake: what is synced between them by the whole product."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from incremental_assets import load
from incremental_assets.core.captures.topic.position import TopicPosition
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.topic_columns import NAMES
from incremental_assets.core.planning.plan import Mode, Request
from incremental_assets.core.planning.report import SyncReport
from incremental_assets.core.syncing.sync import sync_table
from incremental_assets.resources.runtime import Runtime
from tests.adapters.topics.broker import FakeBroker
from tests.conformance.stand import Given
from tests.fakes import Process
from tests.fakes.rows import own_columns
from tests.fakes.world import Watched

if TYPE_CHECKING:
    import pytest
    from pyspark.sql import SparkSession

HEAD = """\
lake: ./lake
checkpoints: sqlite:///checkpoints.db
sources:
  shop:
    dialect: kafka
    bootstrap_servers: localhost:9092
"""
Row = dict[str, Any]


@dataclass
class Place:
    """What a test has: a folder with the file, and a cluster."""

    folder: Path
    spark: SparkSession
    broker: Any = field(default_factory=FakeBroker)

    def configure(self, text: str, head: str = HEAD) -> None:
        (self.folder / "sources.yaml").write_text(head + text)

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
            found = runtime.specs("shop")
            for each in found.problems:
                raise each.error
        return next(spec for spec in found.specs if spec.id.name == name)

    def sync(
        self, name: str = "orders", process: Process | None = None, mode: Mode = Mode.SYNC, **more: Any
    ) -> SyncReport:
        with self.runtime() as runtime:
            ports, spec = runtime.ports("shop"), self.spec(name)
            if process is not None:
                watched = {
                    each: Watched(getattr(ports, each), process)
                    for each in ("probe", "source", "stage", "lake", "checkpoints")
                }
                ports = replace(ports, **watched)  # type: ignore[arg-type]
            return sync_table(spec, Request(str(uuid.uuid4()), mode, **more), ports)

    def rows(self, name: str = "orders") -> list[Row]:
        """The copy, by Spark."""
        frame = self.spark.read.format("delta").load(str(self.folder / f"lake/shop/shop/{name}"))
        return [own_columns(row.asDict()) for row in frame.collect()]

    def copy(self, name: str = "orders") -> list[Row]:
        """The columns that the source has."""
        found = [{key: value for key, value in row.items() if key not in NAMES} for row in self.rows(name)]
        return sorted(found, key=lambda row: repr(next(iter(row.values()))))

    def quarantined(self, name: str = "orders") -> list[tuple[Any, ...]]:
        """Partition, offset, column and reason."""
        path = self.folder / f"lake/_quarantine/shop/shop/{name}"
        if not path.exists():
            return []
        frame = self.spark.read.format("delta").load(str(path))
        told = ("_topic_partition", "_topic_offset", "_sync_column", "_sync_reason")
        return sorted(tuple(row[each] for each in told) for row in frame.collect())

    def at(self, name: str = "orders") -> TopicPosition:
        with self.runtime() as runtime:
            state = runtime.checkpoints.position(self.spec(name).id).state
        assert state is not None
        assert isinstance(state.position, TopicPosition)
        return state.position


def use(broker: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever opens the cluster of the configuration gets this one."""
    monkeypatch.setattr("incremental_assets.adapters.topics.kafka.KafkaBroker", lambda source, client: broker)
