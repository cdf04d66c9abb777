"""How a cluster of Kafka is reached, and what its topics hold: what only a source of this kind has."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, StrEnum

from incremental_assets.core.config.settings import Reference, SourceSettings
from incremental_assets.core.model.coding import Coding
from incremental_assets.core.model.dataset import Dataset
from incremental_assets.core.model.identifiers import parse_table


class Records(Enum):
    """What the records of a topic tell, whichever way they are written."""

    ENVELOPES = "debezium"
    ROWS = "unwrapped"
    """Debezium's, of which `ExtractNewRecordState` has left the row alone."""
    EVENTS = "events"
    """Of anybody."""


class Format(StrEnum):
    """What the records of a topic are, and how they are written: in JSON, or in Avro by the schemas of a registry."""

    DEBEZIUM = "debezium"
    DEBEZIUM_AVRO = "debezium-avro"
    UNWRAPPED = "unwrapped"
    UNWRAPPED_AVRO = "unwrapped-avro"
    JSON = "json"
    AVRO = "avro"

    @property
    def is_avro(self) -> bool:
        """Whether a registry has their schemas."""
        return self in (Format.DEBEZIUM_AVRO, Format.UNWRAPPED_AVRO, Format.AVRO)

    @property
    def records(self) -> Records:
        """What they tell."""
        if self in (Format.JSON, Format.AVRO):
            return Records.EVENTS
        return Records.ENVELOPES if self in (Format.DEBEZIUM, Format.DEBEZIUM_AVRO) else Records.ROWS


@dataclass(frozen=True, slots=True)
class Topic:
    """One topic, and the table that is made of it."""

    table: str
    """As it is written: `schema.table`."""
    name: str
    format: Format
    columns: tuple[tuple[str, Coding], ...] = ()
    """As the configuration declares them; none where the records bring their schema."""
    key: tuple[str, ...] = ()

    @property
    def schema_and_name(self) -> tuple[str, str]:
        """The table's name in its two parts."""
        return parse_table(self.table)


@dataclass(frozen=True, slots=True)
class KafkaSettings(SourceSettings):
    """One cluster."""

    bootstrap_servers: str | Reference
    tls: str = "verify-full"
    ca: str = ""
    """The file of the authorities that the brokers' certificates are held against; empty: this machine's."""
    sasl: str = ""
    user: str | Reference | None = None
    password: str | Reference | None = None
    topics: tuple[Topic, ...] = ()
    registry_url: str | Reference | None = None
    registry_ca: str = ""
    """As `ca`, of the registry's certificate."""
    registry_user: str | Reference | None = None
    registry_password: str | Reference | None = None

    @property
    def secrets(self) -> tuple[Reference, ...]:
        """The passwords'."""
        return tuple(each for each in (self.password, self.registry_password) if isinstance(each, Reference))

    @property
    def unencrypted(self) -> tuple[str, str] | None:
        """That records may cross a network that others read; None unless `tls: disable` is written for brokers that are not all loopback."""
        if self.tls == "disable" and not (
            isinstance(self.bootstrap_servers, str) and are_loopback(self.bootstrap_servers)
        ):
            return (
                f"records{' and the password' if self.password else ''} cross the network to {self.bootstrap_servers} unencrypted, as `tls: disable` is written",
                "write verify-full or verify-ca once the brokers have TLS",
            )
        url = self.registry_url
        if isinstance(url, str) and url.startswith("http://") and not are_loopback(_server(url)):
            return (
                f"schemas{' and the password' if self.registry_password else ''} cross the network from {url} unencrypted",
                "write https:// once the registry has TLS",
            )
        return None

    def dataset(self, schema: str, table: str) -> Dataset | None:
        """The topic, by the first of the brokers."""
        named = (each.name for each in self.topics if each.schema_and_name == (schema, table))
        broker = str(self.bootstrap_servers).partition(",")[0].strip()
        return next((Dataset(f"kafka://{broker}", topic) for topic in named), None)


def are_loopback(servers: str) -> bool:
    """Whether all brokers are this machine by their very names."""
    return all(
        each.strip().rpartition(":")[0].strip("[]") in ("localhost", "127.0.0.1", "::1") for each in servers.split(",")
    )


def _server(url: str) -> str:
    """Its host with a port."""
    server = url.partition("://")[2].partition("/")[0]
    return server if server.rpartition(":")[2].isdigit() else f"{server}:80"
