"""The log: events in memory, or in a file that other processes read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

Row = dict[str, object]


class Event(NamedTuple):
    """What was said of a key: `status`, or that it is gone."""

    key: int
    operation: str
    status: str | None


@dataclass
class Topic:
    """Events that are only added, each at the end of the partition that its key has; the oldest of a partition may be trimmed."""

    partitions: list[list[Event]] = field(default_factory=lambda: [[], []])
    trimmed: list[int] = field(default_factory=lambda: [0, 0])

    @property
    def ends(self) -> tuple[int, ...]:
        """The offset behind the last event of each partition."""
        return tuple(map(len, self.partitions))

    def put(self, key: int, status: str) -> None:
        """One event."""
        self._add(Event(key, "put", status))

    def gone(self, key: int) -> None:
        """One event that says so."""
        self._add(Event(key, "gone", None))

    def _add(self, event: Event) -> None:
        self.partitions[event.key % len(self.partitions)].append(event)

    def read(self, number: int, first: int, end: int) -> Iterator[tuple[int, Event]]:
        """The events of a range, as far as they are still there."""
        for offset in range(max(first, self.trimmed[number]), min(end, len(self.partitions[number]))):
            yield offset, self.partitions[number][offset]


@dataclass
class EventLog:
    """Topics by name."""

    topics: dict[str, Topic] = field(default_factory=dict)
    clock: datetime = datetime(2024, 1, 29, 9, tzinfo=UTC)

    def tick(self) -> None:
        """A second later."""
        self.clock += timedelta(seconds=1)

    def save(self, file: Path) -> None:
        """The whole log, for other processes."""
        topics = {name: asdict(topic) for name, topic in self.topics.items()}
        file.write_text(json.dumps({"clock": self.clock.isoformat(), "topics": topics}))

    @classmethod
    def load(cls, file: Path) -> EventLog:
        """As it was saved."""
        found = json.loads(file.read_text())
        topics = {
            name: Topic([[Event(*event) for event in events] for events in topic["partitions"]], topic["trimmed"])
            for name, topic in found["topics"].items()
        }
        return cls(topics, datetime.fromisoformat(found["clock"]))
