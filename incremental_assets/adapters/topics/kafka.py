"""A cluster of Kafka, by the client of those who keep it. Imported when a source is first asked."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from confluent_kafka import Consumer, IsolationLevel, KafkaError, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined,unused-ignore]

from incremental_assets.adapters.topics.record import Record
from incremental_assets.core.captures.topic.observation import Ends, TopicSeen
from incremental_assets.core.captures.topic.reading import Range
from incremental_assets.core.errors import IncrementalAssetsError, SourceRefused, SourceUnreachable
from incremental_assets.core.model.moment import Free

_SECONDS = 15.0
"""How long an answer is waited for, and the next record."""
_AT_ONCE, _HEARD = 5_000, 20
_REFUSED = frozenset(
    {
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError.CLUSTER_AUTHORIZATION_FAILED,
        KafkaError.GROUP_AUTHORIZATION_FAILED,
        KafkaError.SASL_AUTHENTICATION_FAILED,
        KafkaError._AUTHENTICATION,
    }
)
_UNKNOWN = (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC, KafkaError._UNKNOWN_PARTITION)
_GONE = (KafkaError.OFFSET_OUT_OF_RANGE, KafkaError._AUTO_OFFSET_RESET)


class KafkaBroker:
    """Implements `topics.record.Broker`."""

    def __init__(self, source: str, client: Mapping[str, Any], seconds: float = _SECONDS) -> None:
        self._source, self._seconds = source, seconds
        self._heard: deque[KafkaError] = deque(maxlen=_HEARD)
        self._client = {**client, "error_cb": self._heard.append}
        self._opened: AdminClient | None = None

    def look(self, topics: Sequence[str]) -> tuple[TopicSeen, ...]:
        """Four light requests, for any number of topics: what the cluster is, what it numbers them by, their first offsets and their last."""
        if not topics:
            return ()
        admin, names = self._admin(), list(dict.fromkeys(topics))
        try:
            known = admin.describe_topics(TopicCollection(names), request_timeout=self._seconds)
            cluster = admin.describe_cluster(request_timeout=self._seconds).result().cluster_id or ""
            found = {name: self._described(each.result) for name, each in known.items()}
            places = [(name, each.id) for name in names if (topic := found[name]) for each in topic.partitions]
            lows, highs = (self._offsets(places, spec) for spec in (OffsetSpec.earliest(), OffsetSpec.latest()))
        except KafkaException as error:
            raise self._told(error.args[0]) from None
        clock = Free(datetime.now(UTC))
        return tuple(
            TopicSeen(
                topic=name,
                bound=clock,
                id="" if found[name] is None else str(found[name].topic_id),
                cluster=cluster,
                partitions=tuple(Ends(lows[place], highs[place]) for place in sorted(places) if place[0] == name),
            )
            for name in topics
        )

    def read(self, topic: str, ranges: Sequence[Range]) -> Iterator[Record]:
        """Until each range has come to its end: by a record behind it or at it, or where the partition ends."""
        left = {each.partition: each for each in ranges if each.size}
        if not left:
            return
        consumer = Consumer(
            {
                **self._client,
                # Assigned by hand: no group is joined and nothing is committed to the cluster.
                "group.id": "incremental-assets",
                "enable.auto.commit": False,
                "auto.offset.reset": "error",
                "isolation.level": "read_committed",
                "enable.partition.eof": True,
                "allow.auto.create.topics": False,
            }
        )
        try:
            consumer.assign([TopicPartition(topic, each.partition, each.begin) for each in left.values()])
            yield from self._records(consumer, topic, left)
        finally:
            consumer.close()

    def close(self) -> None:
        """Nothing is kept but the client, which ends with its last reference."""
        self._opened = None

    def _records(self, consumer: Consumer, topic: str, left: dict[int, Range]) -> Iterator[Record]:
        until = time.monotonic() + self._seconds
        while left:
            messages: list[Any] = consumer.consume(_AT_ONCE, timeout=0.2)
            if not messages and time.monotonic() > until:
                raise self._refusal() or SourceUnreachable(
                    f"{self._source}: for {self._seconds:.0f} seconds no record of {topic!r} came, where {', '.join(f'offset {each.end} of partition {each.partition}' for each in left.values())} is to be reached; try again"
                )
            for message in messages:
                until = time.monotonic() + self._seconds
                number, error = message.partition(), message.error()
                if error is not None and error.code() != KafkaError._PARTITION_EOF:
                    raise self._unread(error, topic, left.get(number))
                within = left.get(number)
                if within is None:
                    continue
                if error is not None or message.offset() >= within.end:
                    # Between the last record and the end are those of transactions that were aborted, or marks.
                    if message.offset() >= within.end:
                        self._done(consumer, topic, left, number)
                    continue
                _, at = message.timestamp()
                yield Record(number, message.offset(), at, message.key(), message.value())
                if message.offset() == within.end - 1:
                    self._done(consumer, topic, left, number)

    @staticmethod
    def _done(consumer: Consumer, topic: str, left: dict[int, Range], number: int) -> None:
        del left[number]
        consumer.pause([TopicPartition(topic, number)])

    def _admin(self) -> AdminClient:
        if self._opened is None:
            self._opened = AdminClient(self._client)
        return self._opened

    def _described(self, result: Any) -> Any:
        """None for a topic that is not there."""
        try:
            return result()
        except KafkaException as error:
            if error.args[0].code() in _UNKNOWN:
                return None
            raise

    def _offsets(self, places: Sequence[tuple[str, int]], spec: OffsetSpec) -> dict[tuple[str, int], int]:
        if not places:
            return {}
        asked = {TopicPartition(*place): spec for place in places}
        found = self._admin().list_offsets(
            asked, isolation_level=IsolationLevel.READ_COMMITTED, request_timeout=self._seconds
        )
        return {(place.topic, place.partition): each.result().offset for place, each in found.items()}

    def _unread(self, error: KafkaError, topic: str, within: Range | None) -> IncrementalAssetsError:
        if error.code() in _GONE and within is not None:
            return SourceRefused(
                f"{self._source}: partition {within.partition} of {topic!r} no longer has the offsets from {within.begin} on, which were there when the sync began: retention has removed them; "
                "keep the topic's records for longer, and sync again, which says what to do"
            )
        return self._told(error)

    def _told(self, error: KafkaError) -> IncrementalAssetsError:
        if self._opened is not None:
            self._opened.poll(0)
        if error.code() in _REFUSED:
            self._heard.append(error)
        return self._refusal() or SourceUnreachable(
            f"{self._source}: the cluster does not answer ({error.str()}); check `bootstrap_servers`, `tls` and the network, and try again"
        )

    def _refusal(self) -> SourceRefused | None:
        """Why questions time out, as the client says beside them; None where it was not refused."""
        said = {each.code(): each.str() for each in self._heard if each.code() in (*_REFUSED, KafkaError._SSL)}
        self._heard.clear()
        if KafkaError._SSL in said:
            return SourceRefused(
                f"{self._source}: the certificate of a broker is not the one that is expected ({said[KafkaError._SSL]}); correct `ca`, or the names in `bootstrap_servers`"
            )
        if not said:
            return None
        return SourceRefused(
            f"{self._source}: the cluster refuses this user ({next(iter(said.values()))}); correct `sasl`, `user` and `password`, or grant Describe and Read on its topics"
        )
