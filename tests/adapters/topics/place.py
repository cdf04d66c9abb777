"""A cluster, a configuration and a real lake: what is synced between them by the whole product."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from incremental_assets.core.captures.topic.position import TopicPosition
from incremental_assets.core.model.topic_columns import NAMES
from tests.adapters.synced_place import SyncedPlace
from tests.adapters.topics.broker import FakeBroker

if TYPE_CHECKING:
    import pytest

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
class Place(SyncedPlace):
    """What a test has: a folder with the file, and a cluster."""

    source: ClassVar[str] = "shop"
    broker: Any = field(default_factory=FakeBroker)

    def configure(self, text: str, head: str = HEAD) -> None:
        (self.folder / "sources.yaml").write_text(head + text)

    def copy(self, name: str = "orders") -> list[Row]:
        """The columns that the source has."""
        found = [{key: value for key, value in row.items() if key not in NAMES} for row in self.rows(name)]
        return sorted(found, key=lambda row: repr(next(iter(row.values()))))

    def quarantined(self, name: str = "orders") -> list[tuple[Any, ...]]:
        """Partition, offset, column and reason."""
        return self.held(name, "_topic_partition", "_topic_offset", "_sync_column", "_sync_reason")

    def at(self, name: str = "orders") -> TopicPosition:
        with self.runtime() as runtime:
            state = runtime.checkpoints.position(self.spec(name).id).state
        assert state is not None
        assert isinstance(state.position, TopicPosition)
        return state.position


def use(broker: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever opens the cluster of the configuration gets this one."""
    monkeypatch.setattr("incremental_assets.adapters.topics.kafka.KafkaBroker", lambda source, client: broker)
