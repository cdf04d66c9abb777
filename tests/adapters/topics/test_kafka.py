"""A real broker, by the contract of all, and what only a real one can refuse."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from incremental_assets.adapters.topics.client import client_settings
from incremental_assets.adapters.topics.kafka import KafkaBroker
from incremental_assets.core.config.kafka_settings import KafkaSettings
from incremental_assets.core.errors import SourceUnreachable
from tests.adapters.topics.contract import *  # noqa: F403 - the contract
from tests.adapters.topics.contract import Ends, Range, SourceRefused, ends, values
from tests.adapters.topics.server import KafkaServer

pytestmark = pytest.mark.acceptance
_NUMBERS = itertools.count()


@dataclass
class Real:
    """Implements `ClusterWorld`."""

    server: KafkaServer
    broker: KafkaBroker = field(init=False)

    def __post_init__(self) -> None:
        self.broker = KafkaBroker("shop", self.server.client())

    def make(self, partitions: int = 1) -> str:
        name = f"topic-{next(_NUMBERS)}"
        self.server.make(name, partitions)
        return name

    def make_anew(self, topic: str) -> None:
        self.server.remove(topic)
        until = time.monotonic() + 30
        while self.broker.look([topic])[0].partitions and time.monotonic() < until:
            time.sleep(0.2)
        self.server.make(topic)

    def widen(self, topic: str, partitions: int) -> None:
        self.server.widen(topic, partitions)

    def put(self, topic: str, *values: str | None, partition: int = 0) -> None:
        self.server.put(topic, [(b"key", value, partition) for value in values])

    def commit(self, topic: str, *values: str) -> None:
        self._settled(topic, values, commit=True)

    def abort(self, topic: str, *values: str) -> None:
        self._settled(topic, values, commit=False)

    def trim(self, topic: str, before: int) -> None:
        self.server.trim(topic, 0, before)

    def _settled(self, topic: str, written: tuple[str, ...], *, commit: bool) -> None:
        """The broker writes the mark of a transaction a moment after it has said that it is over."""
        (before,) = ends(self, topic)
        self.server.put(topic, [(b"key", value, 0) for value in written], commit=commit)
        until = time.monotonic() + 30
        while ends(self, topic)[0].high < before.high + len(written) + 1 and time.monotonic() < until:
            time.sleep(0.1)


@pytest.fixture
def world(kafka: KafkaServer) -> Real:
    return Real(kafka)


@pytest.fixture
def away(kafka: KafkaServer) -> Iterator[KafkaServer]:
    """The broker is down until it is started again."""
    kafka.stop()
    yield kafka
    kafka.start()


def test_what_a_transaction_has_not_committed_lies_beyond_the_end(world: Real) -> None:
    from confluent_kafka import Producer

    topic = world.make()
    world.put(topic, "a")
    writer = Producer({**world.server.client(), "transactional.id": "open"})
    writer.init_transactions(30)
    writer.begin_transaction()
    writer.produce(topic, b"open")
    writer.flush(30)
    world.put(topic, "b")
    assert ends(world, topic) == (Ends(0, 1),)
    writer.commit_transaction(30)
    until = time.monotonic() + 30
    while ends(world, topic) != (Ends(0, 4),) and time.monotonic() < until:
        time.sleep(0.1)
    assert values(world, topic, Range(0, 0, 4)) == [(0, 0, b"a"), (0, 1, b"open"), (0, 2, b"b")]


def test_a_user_with_another_password_is_refused_by_name_and_the_right_one_reads(world: Real) -> None:
    topic = world.make()
    world.put(topic, "a")
    found = {}
    for password in ("s3cret", "wr0ng"):
        settings = KafkaSettings(
            f"127.0.0.1:{world.server.sasl}", "disable", sasl="plain", user="reader", password=password
        )
        found[password] = KafkaBroker("shop", client_settings(settings), seconds=5)
    assert ends(Real(world.server), topic) == (Ends(0, 1),)
    assert [each.value for each in found["s3cret"].read(topic, [Range(0, 0, 1)])] == [b"a"]
    for question in (lambda: found["wr0ng"].look([topic]), lambda: list(found["wr0ng"].read(topic, [Range(0, 0, 1)]))):
        with pytest.raises(SourceRefused, match="shop: the cluster refuses this user") as refused:
            question()
        assert "wr0ng" not in str(refused.value)


def test_a_certificate_is_held_against_its_authority_and_its_name(world: Real) -> None:
    topic, port, ca = world.make(), world.server.tls, str(world.server.certificate)
    for servers, tls in ((f"localhost:{port}", "verify-full"), (f"127.0.0.1:{port}", "verify-ca")):
        trusted = KafkaBroker("shop", client_settings(KafkaSettings(servers, tls, ca)), seconds=10)
        assert [each.partitions for each in trusted.look([topic])] == [(Ends(0, 0),)]
    for servers, tls, own in ((f"localhost:{port}", "verify-ca", ""), (f"127.0.0.1:{port}", "verify-full", ca)):
        doubted = KafkaBroker("shop", client_settings(KafkaSettings(servers, tls, own)), seconds=5)
        with pytest.raises(SourceRefused, match="shop: the certificate of a broker is not the one that is expected"):
            doubted.look([topic])


def test_a_hundred_thousand_records_are_read(world: Real) -> None:
    topic = world.make(2)
    world.server.put(topic, [(b"key", b"x" * 100, number % 2) for number in range(100_000)])
    ranges = [Range(number, 0, each.high) for number, each in enumerate(ends(world, topic))]
    assert len(values(world, topic, *ranges)) == 100_000


def test_a_broker_that_is_down_is_named_and_read_again_once_it_is_there(world: Real, away: KafkaServer) -> None:
    broker = KafkaBroker("shop", away.client(), seconds=3)
    with pytest.raises(SourceUnreachable, match="shop: the cluster does not answer"):
        broker.look(["topic"])
    with pytest.raises(SourceUnreachable, match="shop: for 3 seconds no record of 'topic' came"):
        list(broker.read("topic", [Range(0, 0, 1)]))


def test_a_broker_that_goes_while_it_is_read_and_comes_back_loses_nothing(world: Real, kafka: KafkaServer) -> None:
    topic = world.make()
    world.server.put(topic, [(b"key", b"x" * 1000, 0) for _ in range(50_000)])
    reading = KafkaBroker("shop", kafka.client(), seconds=120).read(topic, [Range(0, 0, 50_000)])
    offsets = [next(reading).offset]
    kafka.stop()
    kafka.start()
    offsets += [record.offset for record in reading]
    assert offsets == list(range(50_000))
