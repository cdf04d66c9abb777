"""A source that is a cluster of Kafka, as the file writes it: its settings, and each mistake at its line."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest
import yaml

from incremental_assets.adapters.topics.client import client_settings
from incremental_assets.core.config.json_schema import schema
from incremental_assets.core.config.kafka_settings import Format, KafkaSettings, Topic
from incremental_assets.core.config.load import load
from incremental_assets.core.config.settings import Configuration, Reference
from incremental_assets.core.errors import ConfigurationError, SetupError
from incremental_assets.core.extras import KAFKA
from incremental_assets.core.model.coding import Coding
from incremental_assets.core.strategies import Strategy
from incremental_assets.resources import topics
from incremental_assets.resources.topics import OpenTopics

FILE = """\
lake: ./lake
checkpoints: sqlite:///checkpoints.db
sources:
  shop:
    dialect: kafka
    bootstrap_servers: kafka-1.example.com:9093,kafka-2.example.com:9093
    ca: ca.pem
    sasl: scram-sha-512
    user: reader
    password: {env: KAFKA_PASSWORD}
    topics:
      shop.orders: {topic: lab.shop.orders, format: debezium}
      shop.stock:
        topic: stock
        format: unwrapped
        columns: {id: bigint, at: timestamp as microseconds}
        key: [id]
      shop.clicks: {topic: clicks, format: json, columns: {who: string}}
    tables:
      - {table: shop.orders, history: scd2}
      - {table: shop.stock}
      - {table: shop.clicks, strategy: append}
"""
HERE = FILE.replace("kafka-1.example.com:9093,kafka-2.example.com:9093", "localhost:9092").replace(
    "    ca: ca.pem\n", ""
)


def loaded(folder: Path, text: str = FILE) -> Configuration:
    (folder / "sources.yaml").write_text(text)
    return load(folder / "sources.yaml")


def settings(folder: Path, text: str = FILE) -> KafkaSettings:
    found = loaded(folder, text).source("shop").settings
    assert isinstance(found, KafkaSettings)
    return found


def mistakes(folder: Path, text: str) -> list[tuple[int, str]]:
    with pytest.raises(ConfigurationError) as found:
        loaded(folder, text)
    return [(each.line, each.cure) for each in found.value.problems]


def test_its_settings_are_brokers_access_and_topics(tmp_path: Path) -> None:
    assert settings(tmp_path) == KafkaSettings(
        bootstrap_servers="kafka-1.example.com:9093,kafka-2.example.com:9093",
        tls="verify-full",
        ca=str(tmp_path / "ca.pem"),
        sasl="scram-sha-512",
        user="reader",
        password=Reference("env", "KAFKA_PASSWORD"),
        topics=(
            Topic("shop.orders", "lab.shop.orders", Format.DEBEZIUM),
            Topic(
                "shop.stock",
                "stock",
                Format.UNWRAPPED,
                (("id", Coding("bigint")), ("at", Coding("timestamp", "microseconds"))),
                ("id",),
            ),
            Topic("shop.clicks", "clicks", Format.JSON, (("who", Coding("string")),)),
        ),
    )
    read = loaded(tmp_path)
    assert read.secrets == ("KAFKA_PASSWORD",)
    assert [(each.name, each.strategy, each.capture) for each in read.source("shop").tables] == [
        ("orders", Strategy.UPSERT, "topic"),
        ("stock", Strategy.UPSERT, "topic"),
        ("clicks", Strategy.APPEND, "topic"),
    ]


def test_records_cross_a_network_encrypted_unless_it_is_written_that_they_do_not(tmp_path: Path) -> None:
    assert settings(tmp_path, HERE).tls == "disable"
    assert loaded(tmp_path, HERE).unencrypted == ()
    (told,) = loaded(tmp_path, FILE.replace("ca: ca.pem", "tls: disable")).unencrypted
    assert "records and the password cross the network to kafka-1.example.com:9093" in told


def test_the_client_gets_what_the_file_says(tmp_path: Path) -> None:
    found = client_settings(settings(tmp_path))
    assert {name: found[name] for name in found if name.startswith(("s", "e", "b"))} == {
        "bootstrap.servers": "kafka-1.example.com:9093,kafka-2.example.com:9093",
        "security.protocol": "SASL_SSL",
        "socket.timeout.ms": 15_000,
        "enable.ssl.certificate.verification": True,
        "ssl.endpoint.identification.algorithm": "https",
        "ssl.ca.location": str(tmp_path / "ca.pem"),
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.username": "reader",
        "sasl.password": "{env: KAFKA_PASSWORD}",
    }
    assert client_settings(KafkaSettings("localhost:9092", "disable"))["security.protocol"] == "PLAINTEXT"
    by_ca = client_settings(KafkaSettings("localhost:9092", "verify-ca"))
    assert (by_ca["security.protocol"], by_ca["ssl.endpoint.identification.algorithm"]) == ("SSL", "none")


@pytest.mark.parametrize(
    ("written", "instead", "line", "cure"),
    [
        ("kafka-1.example.com:9093,", "kafka-1,", 6, "write brokers with their ports, as in kafka-1.example.com:9093"),
        ("ca: ca.pem", "ca: ca.pem\n    tls: disable", 7, "without TLS no certificate is shown; remove `ca`"),
        ("ca: ca.pem", "tls: require", 7, "choose one of: verify-full, verify-ca, disable"),
        ("    user: reader\n", "", 4, "`sasl: scram-sha-512` needs a user and a password; add `user`"),
        ("    sasl: scram-sha-512\n", "", 8, "`user` is for a cluster that asks who it is; add `sasl`, or remove it"),
        ("{env: KAFKA_PASSWORD}", "s3cret", 10, "a secret is never written in this file"),
        (
            "format: debezium}",
            "format: protobuf}",
            12,
            "choose one of: debezium, debezium-avro, unwrapped, unwrapped-avro, json, avro",
        ),
        (
            "format: debezium}",
            "format: avro}",
            12,
            "schemas of records in Avro are in a registry; add `schema_registry: {url: https://registry.example.com}` to the source",
        ),
        (
            "    tables:",
            "    schema_registry: {url: https://registry.example.com}\n    tables:",
            19,
            "no topic is in Avro, and nobody else asks it; remove it, or correct a `format`",
        ),
        ("topic: lab.shop.orders, ", "", 12, "the key `topic` is missing; add it"),
        ("format: debezium}", "format: debezium, key: [id]}", 12, "records that bring their schema name their key"),
        ("microseconds}", "seconds}", 16, "write how its values stand in the record: `timestamp`, `timestamp as mill"),
        ("key: [id]", "key: [no]", 17, "`columns` has no 'no'; add it, or correct the key"),
        (", columns: {who: string}", "", 18, "JSON does not say what types its columns have; write them"),
        ("{who: string}", "{who: string}, key: [who]", 18, "each event of `format: json` is a row of its own"),
        ("shop.clicks: {topic", "clicks: {topic", 18, "write schema.table"),
        ("history: scd2", "cursor: {column: at, type: timestamp}", 20, "`cursor` is for tables of a database"),
        ("history: scd2", "strategy: full_refresh", 20, "a table of kafka goes on from where it was read"),
    ],
)
def test_a_mistake_is_at_its_line_with_its_cure(
    tmp_path: Path, written: str, instead: str, line: int, cure: str
) -> None:
    assert written in FILE
    found = mistakes(tmp_path, FILE.replace(written, instead, 1))
    assert [each for each in found if each[0] == line and each[1].startswith(cure)], found


def refused(folder: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, str]]:
    monkeypatch.setenv("KAFKA_PASSWORD", "s3cret")
    read = loaded(folder, text)
    with pytest.raises(ConfigurationError) as found:
        OpenTopics(read.source("shop"), read.path, read.lake)
    return [(each.line, each.cure) for each in found.value.problems]


def test_topics_and_tables_that_do_not_fit_together_are_named_when_the_source_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = FILE.replace("      - {table: shop.stock}\n", "      - {table: shop.other}\n")
    text = text.replace("history: scd2", "primary_key: [no]").replace(", strategy: append", "")
    assert refused(tmp_path, text, monkeypatch) == [
        (20, "rows of a topic are known by the key of its records; remove `primary_key`"),
        (11, "no table is made of it; add `- {table: shop.stock}` to `tables`, or remove it"),
        (22, "each event of `format: json` is a row of its own; write `strategy: append`"),
    ]


def test_brokers_that_are_none_are_named_when_the_source_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BROKERS", "kafka")
    text = FILE.replace("kafka-1.example.com:9093,kafka-2.example.com:9093", "{env: BROKERS}")
    ((line, told),) = refused(tmp_path, text, monkeypatch)
    assert line == 6
    assert told.startswith("the value is none: write brokers with their ports")


AVRO = FILE.replace("format: debezium}", "format: debezium-avro}").replace(
    "    tables:",
    "    schema_registry: {url: https://registry.example.com/, user: reader, password: {env: REGISTRY_PASSWORD}}\n    tables:",
)


@pytest.mark.parametrize(
    ("written", "instead", "cure"),
    [
        (", user: reader", "", "`password` goes with `user`; add it, or remove `password`"),
        ("https://registry.example.com/", "https://me:s3cret@registry.example.com", "write https://registry.example.com"),
        ("{env: REGISTRY_PASSWORD}", "s3cret", "a secret is never written in this file"),
        ("url: https://", "ca: ca.pem, url: http://", "without TLS no certificate is shown; remove `ca`, or write https://"),
        (
            "format: debezium-avro}",
            "format: debezium-avro, key: [id]}",
            "records in Avro bring their schema; remove `key`",
        ),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_registry_is_named(tmp_path: Path, written: str, instead: str, cure: str) -> None:
    assert cure in " ".join(told for _, told in mistakes(tmp_path, AVRO.replace(written, instead)))


def test_a_registry_is_an_address_and_who_asks_it(tmp_path: Path) -> None:
    found = settings(tmp_path, AVRO)
    assert (found.registry_url, found.registry_user) == ("https://registry.example.com", "reader")
    assert str(found.registry_password) == "{env: REGISTRY_PASSWORD}"


def test_an_editor_knows_its_keys() -> None:
    validator = jsonschema.Draft202012Validator(schema())
    assert validator.is_valid(yaml.safe_load(FILE))
    assert not validator.is_valid(yaml.safe_load(FILE.replace("format: json", "format: protobuf")))
    assert not validator.is_valid(yaml.safe_load(FILE.replace("bootstrap_servers", "host")))


def test_without_the_client_the_command_that_installs_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KAFKA_PASSWORD", "s3cret")
    monkeypatch.setattr(topics, "KAFKA", replace(KAFKA, modules=("no_such_module_of_kafka",)))
    read = loaded(tmp_path)
    opened = OpenTopics(read.source("shop"), read.path, read.lake)
    with pytest.raises(
        SetupError, match=r"Kafka's client is not installed; install it by `pip install 'incremental-ass"
    ):
        opened.probe.catalogue()


LOOK = """\
import sys
from pathlib import Path
from incremental_assets.core.config.load import load
from incremental_assets.adapters.topics.kafka import KafkaBroker
from incremental_assets.core.errors import SourceUnreachable
from incremental_assets.resources.topics import OpenTopics

KafkaBroker.__init__.__defaults__ = (0.5,)   # nobody answers there, however long one waits
read = load(Path(sys.argv[1]))
try:
    OpenTopics(read.source("shop"), read.path, read.lake).probe.catalogue()
except SourceUnreachable:
    print(sorted({"pyspark", "pyarrow", "pandas"} & sys.modules.keys()))
"""


def test_a_look_imports_neither_spark_nor_arrow(tmp_path: Path) -> None:
    (tmp_path / "sources.yaml").write_text(HERE.replace("localhost:9092", "localhost:9"))
    done = subprocess.run(
        [sys.executable, "-c", LOOK, str(tmp_path / "sources.yaml")],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"KAFKA_PASSWORD": "s3cret"},
    )
    assert done.stdout == "[]\n", done.stderr


@pytest.mark.parametrize(
    ("right", "wrong", "where"),
    [
        ("user: reader", "usr: reader", "$.sources.shop"),
        ("format: unwrapped", "format: unwraped", "$.sources.shop.topics['shop.stock'].format"),
        ("dialect: kafka", "dialect: kafak", "$.sources.shop.dialect"),
    ],
)
def test_an_editor_shows_a_mistake_where_it_is(right: str, wrong: str, where: str) -> None:
    document = yaml.safe_load(FILE.replace(right, wrong))
    paths = {error.json_path for error in jsonschema.Draft202012Validator(schema()).iter_errors(document)}
    assert where in paths
    assert all(path.startswith("$.sources.shop") for path in paths)
    if "dialect" not in right:
        assert paths == {where}
