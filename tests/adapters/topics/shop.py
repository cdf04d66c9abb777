"""A topic, and a world whose source it is: what a connector writes to it, and syncs of it that may die on their way."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
import pytest

from incremental_assets.adapters.spark.arrow_types import required_type
from incremental_assets.adapters.spark.own_names import OPERATION, REJECT_REASON
from incremental_assets.adapters.topics.probe import TopicProbe
from incremental_assets.adapters.topics.shapes import declared
from incremental_assets.adapters.topics.source import TopicSource
from incremental_assets.core.captures.topic.position import TopicPosition
from incremental_assets.core.config.kafka_settings import Format, Records, Topic
from incremental_assets.core.model.history import FaultyKeys, History
from incremental_assets.core.model.topic_columns import NAMES
from incremental_assets.core.planning.plan import Mode, SyncPlan
from incremental_assets.core.planning.report import SyncReport
from incremental_assets.core.ports import Ports
from incremental_assets.core.strategies import Strategy
from incremental_assets.core.syncing.sync import sync_table
from tests.adapters.topics.avro import FakeRegistry
from tests.adapters.topics.broker import FakeBroker, FakeTopic, envelope
from tests.adapters.topics.tables import NAME, table, topic
from tests.fakes import Process, World
from tests.fakes.rows import own_columns
from tests.fakes.world import Watched
from tests.scenario import shop

_NUMBERS = itertools.count()
ORDERS = topic(id="bigint", status="string")
WRITTEN = Format.DEBEZIUM
"""How shops write their records; the fixture `written` plays a story in each way."""
WORD = "__debezium_unavailable_value"
BOTH = pytest.mark.parametrize("strategy", [Strategy.UPSERT, Strategy.APPEND])


def orders(records: Records = Records.ENVELOPES) -> Topic:
    """A topic of orders in the way that shops write."""
    form = next(each for each in Format if each.records is records and each.is_avro is WRITTEN.is_avro)
    # In Avro their columns come with them.
    return topic(form) if form.is_avro else topic(form, id="bigint", status="string")


class _Frame:
    """A snapshot whose rows are a list, as the stage of the fakes takes them."""

    def __init__(self, snapshot: Any, names: tuple[str, ...]) -> None:
        self._snapshot, self._names = snapshot, names

    def __getattr__(self, name: str) -> Any:
        return getattr(self._snapshot, name)

    @property
    def frame(self) -> list[dict[str, Any]]:
        read = [batch for part in self._snapshot.parts for batch in part.batches()]
        rows = []
        for row in (row for batch in read for row in batch.to_pylist()):
            shown = {name: row[f"c{place}"] for place, name in enumerate(self._names)}
            if row[REJECT_REASON] is not None:
                # What a fake takes for a value that no copy can hold.
                shown[next(name for name in self._names if name not in ("id", *NAMES))] = f"unfit: {row[REJECT_REASON]}"
            rows.append(shown | {OPERATION: row[OPERATION]})
        return rows


@dataclass
class _Source:
    inner: TopicSource

    @contextmanager
    def snapshot(self, plan: SyncPlan) -> Iterator[Any]:
        with self.inner.snapshot(plan) as snapshot:
            yield _Frame(snapshot, plan.spec.shape.names)


@dataclass
class Shop:
    """A topic, and a world whose source it is."""

    made_of: Topic = field(default_factory=orders)
    strategy: Strategy = Strategy.UPSERT
    history: History = History.NONE
    topic: FakeTopic = field(default_factory=FakeTopic)
    world: World = field(default_factory=lambda: World(shop()))
    lsn: int = 0
    registry: FakeRegistry = field(default_factory=FakeRegistry)
    lake: str = field(default_factory=lambda: f"lake-{next(_NUMBERS)}")
    """Below the folder of the test, see `conftest.py`."""

    def __post_init__(self) -> None:
        if self.made_of.format.is_avro:
            self.topic.encode = self.registry.as_bytes
        self.broker = FakeBroker({NAME: self.topic})
        told = None if self.made_of.columns else declared(ORDERS)
        self.spec = table(self.made_of, self.strategy, told, self.history)
        self.probe = TopicProbe(
            self.broker, "shop", {self.spec.id: (self.made_of, self.strategy)}, self.registry.documents
        )

    def say(self, op: str, key: int, status: str | None = None, partition: int = 0) -> None:
        """What the source's connector writes of a change."""
        self.lsn += 10
        value: Any = envelope(op, None if op == "t" else {"id": key, "status": status}, self.lsn)
        if self.made_of.format.records is Records.ROWS:
            value = {"id": key, "status": status, "__deleted": str(op == "d").lower()}
        self.topic.put(None if op == "t" else {"id": key}, value, partition)
        if op == "d":
            self.topic.put({"id": key}, None, partition)

    def again(self, first: int, last: int, partition: int = 0) -> None:
        """The connector was started again, and sends what it has sent before."""
        for record in self.topic.partitions[partition][first:last]:
            if record is not None:
                self.topic.put(record.key, record.value, partition)

    def ports(self, process: Process | None = None) -> Ports:
        process = process or self.world.process()
        topics = {self.spec.id: self.made_of}
        source = _Source(TopicSource(self.broker, topics, self._copied, self.lake, self.registry.documents))
        watched = {"probe": self.probe, "source": source}
        return replace(self.world.ports(process), **{name: Watched(port, process) for name, port in watched.items()})

    def _copied(self, spec: Any, names: Any, keys: pa.Table | None) -> pa.Table:
        types = {each.name: required_type(each.spark_type) for each in spec.columns}
        rows = [row for row in self.world.rows(spec.id) if row.get("_sync_deleted_at") is None]
        found = pa.table({name: pa.array([row[name] for row in rows], types[name]) for name in names})
        return found if keys is None else found.join(keys, keys=keys.column_names, join_type="left semi")

    def sync(self, process: Process | None = None, mode: Mode = Mode.SYNC, **more: Any) -> SyncReport:
        return sync_table(self.spec, replace(self.world.request(mode), **more), self.ports(process))

    def copy(self) -> dict[Any, Any]:
        """Status by key."""
        return {row["id"]: row["status"] for row in map(own_columns, self.world.rows(self.spec.id))}

    def changes(self) -> list[tuple[Any, ...]]:
        """Of a copy that keeps each record."""
        rows = map(own_columns, self.world.rows(self.spec.id))
        return sorted((row["_topic_partition"], row["_topic_offset"], row["_op"], row["id"]) for row in rows)

    def at(self) -> TopicPosition:
        state = self.world.checkpoints.position(self.spec.id).state
        assert state is not None
        assert isinstance(state.position, TopicPosition)
        return state.position

    def check(self, moment: str = "") -> None:
        """Nothing is lost, nothing is twice, and the position is that of the rows."""
        assert self.at().next == self.topic.ends, moment
        assert self.world.stage.batches == {}, moment
        assert self.world.checkpoints.position(self.spec.id).open is None, moment
        if self.strategy is Strategy.APPEND:
            there = [(r.partition, r.offset) for p in self.topic.partitions for r in p if r is not None]
            assert [each[:2] for each in self.changes()] == sorted(there), moment
        if self.history is History.SCD2:
            assert self.world.lake.differing_versions(self.spec) == FaultyKeys(0), moment


def opened(strategy: Strategy = Strategy.UPSERT, **more: Any) -> Shop:
    there = Shop(strategy=strategy, **more)
    there.say("r", 1, "new")
    there.say("r", 2, "new")
    there.say("u", 1, "paid")
    there.topic.mark()
    return there


def later(there: Shop) -> Shop:
    there.say("d", 2)
    there.say("c", 3, "new")
    there.again(0, 7)
    there.say("u", 3, WORD)
    return there
