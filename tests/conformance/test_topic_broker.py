"""T81: brokers go, records are removed, topics are made anew or wider: what was not read is never passed in silence."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import KafkaException

from incremental_assets.core.errors import SourceUnreachable
from incremental_assets.core.maintenance.reset import reset_table
from incremental_assets.core.planning.plan import Mode
from tests.adapters.topics.server import KafkaServer, kafka_server
from tests.conformance.scenario import of_topic
from tests.conformance.topic_stand import TopicStand
from tests.waiting import until

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@of_topic(
    "T81",
    "the broker is down",
    holds="the sync ends in one sentence that names the source; once it is there again the next one lands all",
)
def test_a_broker_that_is_down(tmp_path: Path, spark: SparkSession) -> None:
    with kafka_server(tmp_path) as server:
        topics = TopicStand.open(server, tmp_path, spark)
        topics.put(topics.change("c", 1, "new"))
        topics.land()
        topics.put(topics.change("u", 1, "paid"))
        server.stop()
        assert "shop: the cluster does not answer" in topics.refused()
        topics.assert_copy((1, "new", None))
        server.start()
        until(lambda: _lands(topics))
        topics.assert_copy((1, "paid", None))


@of_topic(
    "T81",
    "retention has removed records that were not read; the table is reset",
    holds="the table stops, with partition and offsets, before and after the reset; its copy stays; a load with `--full-refresh` has what is left",
    bugs=("apache/hudi#5400",),
)
def test_retention_that_was_faster(topics: TopicStand, kafka: KafkaServer) -> None:
    topics.put(*[topics.change("c", row, "new") for row in range(30)])
    topics.land()
    topics.put(*[topics.change("u", row, "paid") for row in range(30)])
    for partition, end in enumerate(topics.ends()):
        kafka.trim(topics.topic, partition, end)
    topics.put(topics.change("u", 1, "sent"))
    assert "retention has removed records that were never read" in topics.refused()
    with topics.place.runtime() as runtime:
        reset_table(spec=topics.place.spec(), to=None, run_id="reset", checkpoints=runtime.checkpoints)
    assert "retention has removed records that were never read" in topics.refused()
    assert {status for _, status, _ in topics.copy()} == {"new"}
    topics.land(mode=Mode.FULL_REFRESH)
    topics.assert_copy((1, "sent", None))


@of_topic(
    "T81",
    "retention has removed records that were read, and no others",
    holds="the next sync goes on, and the copy keeps what came of them",
)
def test_retention_behind_us(topics: TopicStand, kafka: KafkaServer) -> None:
    topics.put(*[topics.change("c", row, "new") for row in range(30)])
    topics.land()
    for partition, end in enumerate(topics.ends()):
        kafka.trim(topics.topic, partition, end)
    topics.put(topics.change("u", 1, "paid"))
    topics.land()
    assert len(topics.copy()) == 30
    assert (1, "paid", None) in topics.copy()


@of_topic(
    "T81",
    "the topic is deleted and made anew under its name, with fewer records, as many, or more than were read",
    holds="the table stops, and names the topic; nothing of the new one lands before `--full-refresh`",
)
@pytest.mark.parametrize("records", [1, 5, 9])
def test_a_topic_that_is_made_anew(topics: TopicStand, kafka: KafkaServer, records: int) -> None:
    topics.put(*[topics.change("c", row, "new") for row in range(5)])
    topics.land()
    kafka.remove(topics.topic)
    until(lambda: not _is_there(topics))
    kafka.make(topics.topic, 3)
    topics.put(*[topics.change("c", row, "other") for row in range(records)])
    assert "was made anew since it was read" in topics.refused()
    assert {status for _, status, _ in topics.copy()} == {"new"}
    topics.land(mode=Mode.FULL_REFRESH)
    topics.assert_copy(*[(row, "other", None) for row in range(records)])


def _lands(topics: TopicStand) -> bool:
    """A broker that has just begun refuses questions for a while."""
    try:
        topics.land()
    except SourceUnreachable:
        return False
    return True


def _is_there(topics: TopicStand) -> bool:
    try:
        return bool(topics.ends())
    except KafkaException:
        return False


@of_topic(
    "T81",
    "the topic gets more partitions, and changes of old keys come by them before the next sync, or after it",
    holds="they are read from their first record, and of a key the newest change counts, whichever partition has it",
)
@pytest.mark.parametrize("is_seen_empty", [True, False])
def test_a_topic_that_becomes_wider(topics: TopicStand, kafka: KafkaServer, is_seen_empty: bool) -> None:
    topics.put(*[topics.change("c", row, "new") for row in range(10)])
    topics.land()
    kafka.widen(topics.topic, 6)
    if is_seen_empty:
        topics.place.sync()
    topics.put(*[topics.change("u", row, "paid") for row in range(10)])
    topics.put(*[topics.change("d", row) for row in range(3)])
    topics.land()
    topics.assert_copy(*[(row, "paid", None) for row in range(3, 10)])
    assert len(topics.place.at().next) == 6
