"""Light questions to a cluster: which tables there are, where their topics end, and how long records have waited."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from incremental_assets.adapters.topics.events import Documents, in_json
from incremental_assets.adapters.topics.record import Broker
from incremental_assets.adapters.topics.shapes import Described, declared, described, shape_of
from incremental_assets.core.captures.topic.observation import Ends, TopicSeen
from incremental_assets.core.captures.topic.position import TopicPosition
from incremental_assets.core.captures.topic.reading import Range
from incremental_assets.core.config.kafka_settings import Topic
from incremental_assets.core.errors import SourceRefused, SourceUnreachable
from incremental_assets.core.model.moment import Free
from incremental_assets.core.model.observe_request import ObserveRequest
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.model.table_shape import TableShape
from incremental_assets.core.strategies import Strategy

_SAMPLED = 20
"""The last offsets of each partition in which a row with its schema is looked for."""


@dataclass
class TopicProbe:
    """Implements `core.ports.Probe`."""

    broker: Broker
    name: str
    """The source's."""
    topics: Mapping[TableId, tuple[Topic, Strategy]]
    documents: Documents = in_json
    rows: None = None
    _told: dict[str, tuple[tuple[Ends, ...], Described]] = field(default_factory=dict)

    def catalogue(self) -> tuple[TableShape, ...]:
        """Every topic that is configured. Of one whose records tell its columns the newest are read, once it has moved."""
        asked = [topic for topic, _ in self.topics.values() if declared(topic) is None]
        seen = {found.topic: found for found in self.broker.look([topic.name for topic in asked])} if asked else {}
        return tuple(
            shape_of(self.name, topic, strategy, declared(topic) or self._described(topic, seen[topic.name]))
            for topic, strategy in self.topics.values()
        )

    def bound(self) -> Free:
        """Nothing holds back a topic; a cluster has no clock."""
        return Free(datetime.now(UTC))

    def observe(self, looks: Sequence[ObserveRequest]) -> tuple[TopicSeen, ...]:
        """The ends of all, asked for together."""
        return self.broker.look([self.topics[look.spec.id][0].name for look in looks]) if looks else ()

    def lag(self, looks: Sequence[ObserveRequest]) -> tuple[float, ...]:
        """By the time of the oldest record that has not landed."""
        return tuple(self._lag(look, seen) for look, seen in zip(looks, self.observe(looks), strict=True))

    def _lag(self, look: ObserveRequest, seen: TopicSeen) -> float:
        at = look.state.position if look.state else None
        begun = at.next if isinstance(at, TopicPosition) else ()
        begins = (*begun, *(each.low for each in seen.partitions[len(begun) :]))
        waiting = [
            Range(number, max(begin, ends.low), ends.high)
            for number, (begin, ends) in enumerate(zip(begins, seen.partitions, strict=False))
            if max(begin, ends.low) < ends.high
        ]
        oldest = [self._first(seen.topic, each) for each in waiting]
        now = datetime.now(UTC).timestamp() * 1000
        return max((0.0, *((now - at) / 1000 for at in oldest if at is not None)))

    def _first(self, topic: str, within: Range) -> int | None:
        return next((record.at for record in self.broker.read(topic, [within])), None)

    def _described(self, topic: Topic, seen: TopicSeen) -> Described:
        if not seen.partitions:
            return Described(
                {},
                why=f"the cluster has no topic {topic.name!r} that this user may read; create it, grant Describe and Read on it, or correct `topic`",
            )
        known = self._told.get(topic.name)
        if known is not None and (known[0] == seen.partitions):
            return known[1]
        last = [
            Range(number, max(ends.low, ends.high - _SAMPLED), ends.high) for number, ends in enumerate(seen.partitions)
        ]
        records = [*self.broker.read(topic.name, [each for each in last if each.size])]
        try:
            found = described(topic, records, self.documents(topic.format))
        except (SourceUnreachable, SourceRefused) as error:
            # Of the tables whose schemas the registry has, and of no other; the next look asks it again.
            return Described({}, why=str(error).removeprefix(f"{self.name}: "))
        if found.why and known is not None:
            # The last records may all be deletes.
            found = known[1]
        self._told[topic.name] = seen.partitions, found
        return found
