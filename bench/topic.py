"""A backlog of changes in a topic of Kafka, from the topic to the lake, by ours and by Spark structured streaming: `make bench ARGS="--only topic"`.

A broker of this benchmark's own has a topic of Debezium's events in JSON. Its snapshot is loaded by both and not timed. Then changes wait in it, and each of both lands them, by turns, in a
session that is open: ours by syncs until nothing is left, Spark by one query with `availableNow`, whose `foreachBatch` is a MERGE. No time counts before a copy is what the events come to.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from confluent_kafka import Producer

from bench.backlog import landed
from bench.big_table import Played, step
from bench.environments import CONTENDERS, Environments
from bench.measuring import Failed, Watch, last_words
from bench.names import SESSION, SPARK_STREAM
from bench.playing import rotated, say
from bench.spark_kafka import kafka_jars
from bench.topic_events import DECLARED, PARTITIONS, TYPES, Orders, Written
from bench.verifying import Copy, difference, of_copy, of_rows
from incremental_assets import load
from incremental_assets.adapters.spark.jars import verified_jars
from incremental_assets.resources.runtime import Runtime
from tests.adapters.topics.server import KafkaServer

NAME = "topic"
ROUNDS = 3
ROOT = Path(__file__).parents[1]
SOURCE = "shop"
_TOPIC = "shop.public.orders"
_QUEUED = 200_000
_PATIENCE = 300
_CONFIG = """
lake: ./lake
checkpoints: sqlite:///checkpoints.db
sources:
  {source}:
    dialect: kafka
    bootstrap_servers: {brokers}
    tls: disable
    topics:
      public.orders: {{topic: {topic}, format: debezium, columns: {declared}, key: [id]}}
    tables:
      - {{table: public.orders}}
"""


def play(changes: int) -> Mapping[str, Any]:
    """All of it, on a broker and in a folder of its own. Raises Failed where a copy does not become what the events come to."""
    played = Played(changes)
    with _server() as (server, folder), _ours(server, folder) as ours, _spark(server, folder) as spark:
        sides = (_Side(SESSION, ours, folder / "lake" / SOURCE / "public" / "orders"), _Side(SPARK_STREAM, spark, folder / "spark"))  # fmt: skip
        orders = Orders()
        say(f"{NAME}: a table of {changes // 2:,} rows")
        _put(server, orders.snapshot(changes // 2))
        for side in sides:
            side.land()
            side.prove(orders)
        return played.document(list(_steps(server, sides, orders, changes)))


@dataclass(frozen=True)
class _Side:
    name: str
    land: Callable[[], int | None]
    """Gives how many rows it has read, where it tells."""
    copy: Path

    def prove(self, orders: Orders) -> None:
        """Raises Failed."""
        found, _ = of_copy(Copy("delta", str(self.copy)), TYPES)
        wrong = difference(of_rows(orders.table(), TYPES), found)
        if wrong:
            raise Failed(f"{self.name}: {wrong}")


def _steps(server: KafkaServer, sides: tuple[_Side, ...], orders: Orders, changes: int) -> Iterator[dict[str, Any]]:
    for number in range(ROUNDS):
        _put(server, orders.changes(changes))
        for side in rotated(sides, number):
            os.sync()
            with Watch(resident=(os.getpid(),)) as watch:
                read = side.land()
            side.prove(orders)
            yield {**step(f"{changes:,} changes by {side.name}", watch.cost()), "way": side.name, "read": read}


def _put(server: KafkaServer, records: Iterable[Written]) -> None:
    producer = Producer(
        {**server.client(), "linger.ms": 50, "batch.size": 1 << 20, "queue.buffering.max.messages": _QUEUED}
    )
    for number, each in enumerate(records):
        producer.produce(_TOPIC, each.value, each.key, each.partition, timestamp=each.at)
        if number % (_QUEUED // 2) == 0 and producer.flush(_PATIENCE):
            raise Failed("the broker does not take its events")
    if producer.flush(_PATIENCE):
        raise Failed("the broker does not take its events")


@contextmanager
def _server() -> Iterator[tuple[KafkaServer, Path]]:
    brought = subprocess.run([ROOT / ".ci/kafka.sh"], capture_output=True, text=True, check=False)
    if brought.returncode != 0:
        raise Failed(f"there is no broker ({last_words('', brought.stderr, brought.returncode)})")
    folder = Path(tempfile.mkdtemp(prefix=f"{NAME}-"))
    (folder / "broker").mkdir()
    server = KafkaServer(ROOT / ".kafka", folder / "broker")
    try:
        try:
            server.start()
        except RuntimeError as error:
            raise Failed(str(error)) from None
        # Its records are dated, and older than a broker keeps them.
        server.make(_TOPIC, PARTITIONS, retention_ms="-1")
        yield server, folder
    finally:
        server.stop()
        shutil.rmtree(folder)


@contextmanager
def _ours(server: KafkaServer, folder: Path) -> Iterator[Callable[[], int]]:
    file = folder / "sources.yaml"
    file.write_text(_CONFIG.format(source=SOURCE, brokers=server.address, topic=_TOPIC, declared=DECLARED))
    runtime = Runtime(load(file))
    try:
        yield lambda: landed(runtime, SOURCE)
    finally:
        runtime.close()


@contextmanager
def _spark(server: KafkaServer, folder: Path) -> Iterator[Callable[[], None]]:
    environments = ROOT / ".bench" / "environments"
    python = Environments(environments).python("spark")
    jars = (*verified_jars(), *kafka_jars(environments / "spark-kafka"))
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            [python, CONTENDERS / "spark_stream.py", server.address, _TOPIC],
            env={**os.environ, "JARS": ",".join(map(str, jars))},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True,
        )  # fmt: skip

        def land() -> None:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(f"{folder / 'spark'}\n")
            process.stdin.flush()
            if not process.stdout.readline():
                errors.seek(0)
                raise Failed(last_words("", errors.read().decode(errors="replace"), process.wait()))

        try:
            yield land
        finally:
            with suppress(subprocess.TimeoutExpired):
                process.communicate(timeout=60)
            process.kill()
