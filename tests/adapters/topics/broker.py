"""A cluster in memory, and the records of Debezium's connectors that were recorded on real databases."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from incremental_assets.adapters.topics.record import Record
from incremental_assets.core.captures.topic.observation import Ends, TopicSeen
from incremental_assets.core.captures.topic.reading import Range
from incremental_assets.core.errors import SourceRefused
from incremental_assets.core.model.moment import Free

RECORDED = Path(__file__).with_name("recorded")
START = 1_795_417_000_000
"""When the first record is written, in milliseconds."""


def recorded(file: str, table: str = "lab.shop.orders") -> list[tuple[Any, Any]]:
    """Key and value of each record, as the connector has handed them to its converter."""
    lines = (json.loads(line) for line in (RECORDED / f"{file}.jsonl").read_text().splitlines())
    return [(line["key"], line["value"]) for line in lines if line["destination"] == table]


def as_bytes(document: Any) -> bytes | None:
    return document if document is None or isinstance(document, bytes) else json.dumps(document).encode()


@dataclass
class FakeTopic:
    """Partitions of records; None stands where a transaction's mark is, or a record that was aborted or compacted away."""

    partitions: list[list[Record | None]] = field(default_factory=lambda: [[]])
    lows: list[int] = field(default_factory=lambda: [0])
    id: str = "topic-1"
    encode: Callable[[Any], bytes | None] = as_bytes

    def put(self, key: Any, value: Any, partition: int = 0) -> None:
        written = sum(map(len, self.partitions))
        place = len(self.partitions[partition])
        found = Record(partition, place, START + 1000 * written, self.encode(key), self.encode(value))
        self.partitions[partition].append(found)

    def mark(self, partition: int = 0) -> None:
        self.partitions[partition].append(None)

    def add_partition(self) -> None:
        self.partitions.append([])
        self.lows.append(0)

    @property
    def ends(self) -> tuple[int, ...]:
        return tuple(map(len, self.partitions))


@dataclass
class FakeBroker:
    """Implements `topics.record.Broker`."""

    topics: dict[str, FakeTopic] = field(default_factory=dict)
    cluster: str = "cluster-1"
    clock: datetime = datetime(2026, 11, 23, 9, tzinfo=UTC)
    reads: int = 0

    def look(self, topics: Sequence[str]) -> tuple[TopicSeen, ...]:
        return tuple(self._seen(name, self.topics.get(name)) for name in topics)

    def _seen(self, name: str, topic: FakeTopic | None) -> TopicSeen:
        if topic is None:
            return TopicSeen(name, Free(self.clock), cluster=self.cluster)
        ends = tuple(Ends(low, end) for low, end in zip(topic.lows, topic.ends, strict=True))
        return TopicSeen(name, Free(self.clock), topic.id, self.cluster, ends)

    def read(self, topic: str, ranges: Sequence[Range]) -> Iterator[Record]:
        self.reads += 1
        found = self.topics[topic]
        for each in ranges:
            if each.begin < found.lows[each.partition]:
                raise SourceRefused(
                    f"partition {each.partition} of {topic!r} no longer has the offsets from {each.begin}"
                )
            yield from (record for record in found.partitions[each.partition][each.begin : each.end] if record)

    def close(self) -> None:
        pass


def replayed(file: str, table: str = "lab.shop.orders", encode: Callable[[Any], bytes | None] = as_bytes) -> FakeTopic:
    """A topic with all that was recorded of a table."""
    topic = FakeTopic(encode=encode)
    for key, value in recorded(file, table):
        topic.put(key, value)
    return topic


def envelope(op: str, row: Mapping[str, Any] | None, lsn: int, **more: Any) -> dict[str, Any]:
    """A change of PostgreSQL, as Debezium writes it without a schema."""
    source = {"connector": "postgresql", "lsn": lsn, "ts_ms": START + lsn, **more}
    before, after = (row, None) if op == "d" else (None, row)
    return {"before": before, "after": after, "source": source, "op": op}
