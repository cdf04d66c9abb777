"""A topic on a real broker, a lake, and the whole product between them: the scenarios of topics are played on it."""

from __future__ import annotations

import itertools
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from incremental_assets.core.errors import IncrementalAssetsError
from incremental_assets.core.planning.plan import Mode
from incremental_assets.core.planning.report import Status, SyncReport
from tests.adapters.topics.broker import as_bytes, envelope
from tests.adapters.topics.place import Place
from tests.adapters.topics.server import KafkaServer
from tests.waiting import until

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HEAD = """\
lake: ./lake
checkpoints: sqlite:///checkpoints.db
sources:
  shop:
    dialect: kafka
    bootstrap_servers: {address}
"""
ORDERS = """\
    topics:
      shop.orders: {{topic: {topic}, format: debezium, columns: {{id: bigint, status: string, note: string}}, key: [id]}}
    tables:
      - {{table: shop.orders{more}}}
"""
WORD = "__debezium_unavailable_value"
"""What stands for a value that the source's log did not have."""
_NUMBERS = itertools.count()
_SECONDS = 30
Row = tuple[int, str | None, str | None]


@dataclass
class TopicStand:
    """`orders` is an upsert of the changes that the topic has."""

    server: KafkaServer
    place: Place
    topic: str
    lsn: int = 0

    @classmethod
    def open(cls, server: KafkaServer, folder: Path, spark: SparkSession, more: str = "") -> TopicStand:
        """With an empty topic of three partitions."""
        found = cls(server, Place(folder, spark), f"orders-{next(_NUMBERS)}-{time.monotonic_ns()}")
        server.make(found.topic, 3)
        found.configure(more)
        return found

    def configure(self, more: str = "") -> None:
        """`more`: keys of the table's entry."""
        self.place.configure(ORDERS.format(topic=self.topic, more=more), HEAD.format(address=self.server.address))

    def change(self, op: str, key: int, status: str | None = None, note: str | None = None) -> tuple[bytes, bytes]:
        """The next change of the source's log, as Debezium writes it."""
        self.lsn += 10
        made = envelope(op, {"id": key, "status": status, "note": note}, self.lsn)
        return as_bytes({"id": key}) or b"", as_bytes(made) or b""

    def put(self, *records: tuple[bytes | None, bytes | None], commit: bool | None = None) -> None:
        """Behind those that are there; a key goes to its partition. `commit`: as one transaction."""
        before = self.ends()
        self.server.put(self.topic, records, commit=commit)
        # A broker writes the mark of a transaction a moment after it has said that it is over.
        marks = 0 if commit is None else 1
        until(lambda: sum(self.ends()) >= sum(before) + len(records) + marks)

    def ends(self) -> tuple[int, ...]:
        """Behind the last record of each partition."""
        from confluent_kafka import Consumer, TopicPartition

        consumer = Consumer({**self.server.client(), "group.id": "ends", "isolation.level": "read_committed"})
        try:
            partitions = consumer.list_topics(self.topic, _SECONDS).topics[self.topic].partitions
            return tuple(
                consumer.get_watermark_offsets(TopicPartition(self.topic, number), _SECONDS)[1]
                for number in sorted(partitions)
            )
        finally:
            consumer.close()

    def land(self, **options: Any) -> SyncReport:
        """Until there is nothing more; the last one that landed."""
        report = self.place.sync(**options)
        assert report.error is None, report.error
        while (following := self.place.sync()).status is not Status.IDLE:
            assert following.error is None, following.error
            report = following
        return report

    def refused(self, mode: Mode = Mode.SYNC) -> str:
        """What a sync says that cannot."""
        try:
            report = self.place.sync(mode=mode)
        except IncrementalAssetsError as error:
            return str(error)
        raise AssertionError(report)

    def copy(self) -> list[Row]:
        """Its rows, by their ids."""
        return sorted((row["id"], row["status"], row["note"]) for row in self.place.copy())

    def assert_copy(self, *rows: Row) -> None:
        assert self.copy() == sorted(rows)

    def assert_tidy(self) -> None:
        """Nothing is left of what died."""
        with self.place.runtime() as runtime:
            assert runtime.checkpoints.position(self.place.spec().id).open is None
            beat = runtime.checkpoints.heartbeats().get(self.place.spec().id)
            assert beat is None or beat.owner is None, beat
        staged = self.place.folder / "lake" / "_staging"
        assert [path for path in staged.rglob("*") if path.is_file()] == []
