"""The kind of source that a cluster of Kafka is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from incremental_assets.core.config.addresses import absolute
from incremental_assets.core.config.kafka_document import KafkaDocument, TopicDocument
from incremental_assets.core.config.kafka_settings import KafkaSettings, Records, Topic, are_loopback
from incremental_assets.core.config.references import located
from incremental_assets.core.config.rules import Mistake
from incremental_assets.core.config.settings import SourceConfig
from incremental_assets.core.model.coding import Coding

_OF_REGISTRY = ("registry_url", "registry_user", "registry_password")
"""Of the settings those that may be references below `schema_registry`."""


class KafkaKind:
    """Implements `SourceKind`."""

    capture = "topic"
    document = KafkaDocument

    def mistakes(self, document: KafkaDocument, now: datetime) -> Iterator[Mistake]:  # noqa: ARG002 - it matters to others
        """Of the user, of TLS, and of each topic."""
        yield from _access_mistakes(document)
        yield from _registry_mistakes(document)
        for table, topic in document.topics.items():
            for path, cure in _topic_mistakes(topic):
                yield ("topics", table, *path), cure
            if topic.format.is_avro and document.schema_registry is None:
                yield (
                    ("topics", table, "format"),
                    "schemas of records in Avro are in a registry; add `schema_registry: {url: https://registry.example.com}` to the source",
                )

    def configured(self, document: KafkaDocument, source: SourceConfig, folder: Path) -> SourceConfig:
        """With its brokers and topics."""
        servers = located(document.bootstrap_servers, folder)
        here, registry = isinstance(servers, str) and are_loopback(servers), document.schema_registry
        return replace(
            source,
            lines={**source.lines, **dict.fromkeys(_OF_REGISTRY, source.line_of("schema_registry"))},
            settings=KafkaSettings(
                bootstrap_servers=servers,
                tls=document.tls or ("disable" if here else "verify-full"),
                ca="" if document.ca is None else str(absolute(document.ca, folder)),
                sasl=document.sasl or "",
                user=located(document.user, folder),
                password=located(document.password, folder),
                topics=tuple(_topic(table, topic) for table, topic in document.topics.items()),
                registry_url=None if registry is None else located(registry.url, folder),
                registry_ca="" if registry is None or registry.ca is None else str(absolute(registry.ca, folder)),
                registry_user=None if registry is None else located(registry.user, folder),
                registry_password=None if registry is None else located(registry.password, folder),
            ),
        )


def _topic(table: str, document: TopicDocument) -> Topic:
    columns = tuple((name, Coding.parse(text)) for name, text in document.columns.items())
    return Topic(table, document.topic, document.format, columns, document.key)


def _access_mistakes(document: KafkaDocument) -> Iterator[Mistake]:
    if document.sasl is not None:
        for key in ("user", "password"):
            if getattr(document, key) is None:
                yield (key,), f"`sasl: {document.sasl}` needs a user and a password; add `{key}`"
    elif document.user is not None or document.password is not None:
        key = "user" if document.user is not None else "password"
        yield (key,), f"`{key}` is for a cluster that asks who it is; add `sasl`, or remove it"
    if document.ca is not None and document.tls == "disable":
        yield ("ca",), "without TLS no certificate is shown; remove `ca`, or `tls: disable`"


def _registry_mistakes(document: KafkaDocument) -> Iterator[Mistake]:
    registry = document.schema_registry
    if registry is None:
        return
    if not any(topic.format.is_avro for topic in document.topics.values()):
        yield ("schema_registry",), "no topic is in Avro, and nobody else asks it; remove it, or correct a `format`"
    if (registry.user is None) != (registry.password is None):
        one, other = ("password", "user") if registry.user is None else ("user", "password")
        yield ("schema_registry", one), f"`{one}` goes with `{other}`; add it, or remove `{one}`"
    if registry.ca is not None and isinstance(registry.url, str) and registry.url.startswith("http://"):
        yield ("schema_registry", "ca"), "without TLS no certificate is shown; remove `ca`, or write https://"


def _topic_mistakes(topic: TopicDocument) -> Iterator[Mistake]:
    if topic.format.is_avro:
        for name in ("columns", "key"):
            if getattr(topic, name):
                yield (name,), f"records in Avro bring their schema; remove `{name}`"
        return
    if topic.format.records is Records.EVENTS:
        if not topic.columns:
            yield (
                ("columns",),
                "JSON does not say what types its columns have; write them: `columns: {id: bigint, at: timestamp}`",
            )
        if topic.key:
            yield ("key",), "each event of `format: json` is a row of its own, by partition and offset; remove `key`"
        return
    if topic.key and not topic.columns:
        yield ("key",), "records that bring their schema name their key themselves; remove `key`, or write `columns`"
    for name in topic.key:
        if topic.columns and name not in topic.columns:
            yield ("key",), f"`columns` has no {name!r}; add it, or correct the key"


KAFKA = KafkaKind()
