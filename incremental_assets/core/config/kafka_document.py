"""A source that is a cluster of Kafka, as written."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, Discriminator, Field, Tag

from incremental_assets.core.config.document import SourceDocument
from incremental_assets.core.config.kafka_settings import Format
from incremental_assets.core.config.scalars import (
    Column,
    EnvReference,
    FileReference,
    Located,
    ReferenceDocument,
    Secret,
    Strict,
    TableName,
    Text,
)
from incremental_assets.core.model.coding import Coding

_SERVER = r"(\[[0-9A-Fa-f:]+\]|[\w.-]+):\d{1,5}"


def checked_servers(text: str) -> str:
    """Brokers with their ports, and nothing that could smuggle more into a connection."""
    if not re.fullmatch(rf"{_SERVER}(,\s*{_SERVER})*", text, re.ASCII):
        raise ValueError("write brokers with their ports, as in kafka-1.example.com:9093,kafka-2.example.com:9093")
    return text


def _checked_coding(text: str) -> str:
    Coding.parse(text)
    return text


def _where(value: object) -> str:
    return "by reference" if isinstance(value, dict | EnvReference | FileReference) else "in place"


Servers = Annotated[
    Annotated[Text, AfterValidator(checked_servers), Tag("in place")]
    | Annotated[ReferenceDocument, Tag("by reference")],
    Discriminator(_where),
]


def checked_registry(text: str) -> str:
    """The address of a registry, and nothing that belongs into keys of its own."""
    if not re.fullmatch(r"https?://[^/@\s?#]+(/[^@\s?#]*)?", text):
        raise ValueError(
            "write https://registry.example.com, with its port and path where it has some; `user` and `password` have keys of their own"
        )
    return text.rstrip("/")


RegistryUrl = Annotated[
    Annotated[Text, AfterValidator(checked_registry), Tag("in place")]
    | Annotated[ReferenceDocument, Tag("by reference")],
    Discriminator(_where),
]


class RegistryDocument(Strict):
    """The registry that has the schemas of records in Avro: any that speaks Confluent's API."""

    url: Annotated[RegistryUrl, Field(description="Its address, or a reference to it.")]
    ca: Annotated[
        Text | None,
        Field(description="The file of the authorities of its certificate; this machine's when absent."),
    ] = None
    user: Located | None = None
    password: Secret | None = None


class TopicDocument(Strict):
    """One topic, and what its records are."""

    topic: Annotated[Text, Field(description="The topic's name in the cluster.")]
    format: Annotated[
        Format,
        Field(
            description="Debezium's envelopes, its rows as ExtractNewRecordState leaves them, or events of anybody; each in JSON, or in Avro."
        ),
    ]
    columns: Annotated[
        dict[Column, Annotated[Text, AfterValidator(_checked_coding), Field(examples=["timestamp as microseconds"])]],
        Field(
            description="The columns that are read and their types, where records bring no schema: a number in JSON does not say what it counts."
        ),
    ] = Field(default_factory=dict)
    key: Annotated[
        tuple[Column, ...],
        Field(description="The columns of the record's key, where `columns` are written; Debezium's formats."),
    ] = ()


class KafkaDocument(SourceDocument):
    """One cluster of Kafka."""

    bootstrap_servers: Annotated[Servers, Field(description="Brokers with their ports, or a reference to them.")]
    tls: Annotated[
        Literal["verify-full", "verify-ca", "disable"] | None,
        Field(description="verify-full when absent, disable for brokers on this machine."),
    ] = None
    ca: Annotated[
        Text | None,
        Field(description="The file of the authorities of the brokers' certificates; this machine's when absent."),
    ] = None
    sasl: Annotated[
        Literal["plain", "scram-sha-256", "scram-sha-512"] | None, Field(description="How the user proves who it is.")
    ] = None
    user: Located | None = None
    password: Secret | None = None
    schema_registry: RegistryDocument | None = None
    topics: Annotated[dict[TableName, TopicDocument], Field(min_length=1, description="For each table its topic.")]
