"""The cluster in memory, by the contract of all."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from tests.adapters.topics.broker import FakeBroker, FakeTopic
from tests.adapters.topics.contract import *  # noqa: F403 - the contract


@dataclass
class InMemory:
    """Implements `ClusterWorld`."""

    broker: FakeBroker = field(default_factory=FakeBroker)

    def make(self, partitions: int = 1) -> str:
        name = f"topic-{len(self.broker.topics)}"
        self.broker.topics[name] = FakeTopic([[] for _ in range(partitions)], [0] * partitions, name)
        return name

    def make_anew(self, topic: str) -> None:
        self.broker.topics[topic] = FakeTopic(id="another")

    def widen(self, topic: str, partitions: int) -> None:
        while len(self.broker.topics[topic].partitions) < partitions:
            self.broker.topics[topic].add_partition()

    def put(self, topic: str, *values: str | None, partition: int = 0) -> None:
        for value in values:
            self.broker.topics[topic].put(b"key", None if value is None else value.encode(), partition)

    def commit(self, topic: str, *values: str) -> None:
        self.put(topic, *values)
        self.broker.topics[topic].mark()

    def abort(self, topic: str, *values: str) -> None:
        for _ in (*values, "the mark"):
            self.broker.topics[topic].mark()

    def trim(self, topic: str, before: int) -> None:
        self.broker.topics[topic].lows[0] = before


@pytest.fixture
def world() -> InMemory:
    return InMemory()
