"""A broker of Kafka of this run's own: one node, its own controller, on loopback."""

from __future__ import annotations

import socket
import subprocess
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

_ROOT = Path(__file__).parents[3]
_SECONDS = 90
_SETTINGS = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},SASL://127.0.0.1:{sasl},TLS://127.0.0.1:{tls},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port},SASL://127.0.0.1:{sasl},TLS://localhost:{tls}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,SASL:SASL_PLAINTEXT,TLS:SSL,CONTROLLER:PLAINTEXT
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAINTEXT
listener.name.sasl.sasl.enabled.mechanisms=PLAIN
listener.name.sasl.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required user_reader="s3cret";
listener.name.tls.ssl.keystore.location={folder}/broker.p12
listener.name.tls.ssl.keystore.type=PKCS12
listener.name.tls.ssl.keystore.password=changeit
log.dirs={folder}/logs
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
auto.create.topics.enable=false
num.partitions=1
"""


class KafkaServer:
    """Started with `start`, and ended with `stop`: by its process, and no other."""

    def __init__(self, jars: Path, folder: Path) -> None:
        self._folder, self._classes = folder, f"{jars}/*"
        self._process: subprocess.Popen[bytes] | None = None
        self.port, self.sasl, self.tls, self._controller = (_free() for _ in range(4))
        self.certificate = folder / "broker.pem"

    @property
    def version(self) -> str:
        (jar,) = (_ROOT / ".kafka").glob("org.apache.kafka_kafka-clients-*.jar")
        return jar.stem.rpartition("-")[2]

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def start(self) -> None:
        settings = self._folder / "server.properties"
        if not settings.exists():
            settings.write_text(
                _SETTINGS.format(
                    port=self.port, sasl=self.sasl, tls=self.tls, controller=self._controller, folder=self._folder
                )
            )
            self._sign()
            # Its identifiers have 22 letters.
            cluster = uuid.uuid4().hex[:22]
            self._java("kafka.tools.StorageTool", "format", "-t", cluster, "-c", str(settings)).wait(_SECONDS)
        self._process = self._java("kafka.Kafka", str(settings))
        self._await()

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait(_SECONDS)
            self._process = None

    def client(self) -> dict[str, Any]:
        return {"bootstrap.servers": self.address, "log_level": 0}

    def make(self, topic: str, partitions: int = 1, **settings: str) -> None:
        from confluent_kafka.admin import NewTopic

        config = {name.replace("_", "."): value for name, value in settings.items()}
        self.asked(lambda admin: admin.create_topics([NewTopic(topic, partitions, 1, config=config)]))

    def remove(self, topic: str) -> None:
        self.asked(lambda admin: admin.delete_topics([topic]))

    def widen(self, topic: str, partitions: int) -> None:
        from confluent_kafka.admin import NewPartitions

        self.asked(lambda admin: admin.create_partitions([NewPartitions(topic, partitions)]))

    def trim(self, topic: str, partition: int, before: int) -> None:
        """As retention does."""
        from confluent_kafka import TopicPartition

        self.asked(lambda admin: admin.delete_records([TopicPartition(topic, partition, before)]))

    def put(self, topic: str, records: Sequence[tuple[Any, ...]], *, commit: bool | None = None) -> None:
        """Records of key, value and perhaps the partition; `commit`: in a transaction, which is committed or aborted."""
        from confluent_kafka import Producer

        own = {} if commit is None else {"transactional.id": f"test-{uuid.uuid4().hex}"}
        producer = Producer({**self.client(), **own})
        if commit is not None:
            producer.init_transactions(30)
            producer.begin_transaction()
        for key, value, *partition in records:
            producer.produce(topic, value, key, *partition)
        if commit is None:
            producer.flush(30)
        elif commit:
            producer.commit_transaction(30)
        else:
            producer.flush(30)
            producer.abort_transaction(30)

    def asked(self, question: Callable[[Any], dict[Any, Any]]) -> None:
        from confluent_kafka.admin import AdminClient

        admin = AdminClient(self.client())  # ends with its last reference
        for answer in question(admin).values():
            answer.result(30)
        time.sleep(0.5)  # until the broker that was asked has told itself

    def _sign(self) -> None:
        """A certificate of its own for `localhost`, and not for the address."""
        store = ("-alias", "broker", "-keystore", str(self._folder / "broker.p12"), "-storepass", "changeit")
        named = ("-dname", "CN=localhost", "-ext", "SAN=dns:localhost")
        for made in (
            ("-genkeypair", "-keyalg", "RSA", "-storetype", "PKCS12", *named),
            ("-exportcert", "-rfc", "-file", str(self.certificate)),
        ):
            subprocess.run(["keytool", *made, *store], check=True, capture_output=True)

    def _java(self, program: str, *arguments: str) -> subprocess.Popen[bytes]:
        memory = ("-Xmx256m", "-Xms64m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
        with (self._folder / "out").open("ab") as out:
            return subprocess.Popen(
                ["java", *memory, "-cp", self._classes, program, *arguments], stdout=out, stderr=out
            )

    def _await(self) -> None:
        until = time.monotonic() + _SECONDS
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
            except OSError:
                if time.monotonic() > until or (self._process is not None and self._process.poll() is not None):
                    raise RuntimeError((self._folder / "out").read_text()[-2000:]) from None
                time.sleep(0.2)
            else:
                return


@contextmanager
def kafka_server(folder: Path) -> Iterator[KafkaServer]:
    """One that runs; the test is skipped where its jars cannot be had."""
    brought = subprocess.run([_ROOT / ".ci/kafka.sh"], capture_output=True, text=True, check=False)
    if brought.returncode != 0:
        pytest.skip(f"no Kafka: {brought.stderr.strip().splitlines()[-1]}")
    server = KafkaServer(_ROOT / ".kafka", folder)
    try:
        server.start()
        yield server
    finally:
        server.stop()


def _free() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
