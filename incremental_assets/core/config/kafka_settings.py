"""How a cluster of Kafka is reached, and what its topics hold: what only a source of this kind has."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from incremental_assets.core.config.settings import Reference, SourceSettings
from incremental_assets.core.model.coding import Coding
from incremental_assets.core.model.identifiers import parse_table


class Format(StrEnum):
    """What the records of a topic are."""

    DEBEZIUM = "debezium"
    UNWRAPPED = "unwrapped"
    """Debezium's, of which `ExtractNewRecordState` has left the row alone."""
    JSON = "json"
    """Events of anybody."""


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

    @property
    def secrets(self) -> tuple[Reference, ...]:
        """The password's."""
        return (self.password,) if isinstance(self.password, Reference) else ()

    @property
    def unencrypted(self) -> tuple[str, str] | None:
        """That records may cross a network that others read; None unless `tls: disable` is written for brokers that are not all loopback."""
        if self.tls != "disable" or (isinstance(self.bootstrap_servers, str) and are_loopback(self.bootstrap_servers)):
            return None
        return (
            f"records{' and the password' if self.password else ''} cross the network to {self.bootstrap_servers} unencrypted, as `tls: disable` is written",
            "write verify-full or verify-ca once the brokers have TLS",
        )


def are_loopback(servers: str) -> bool:
    """Whether all brokers are this machine by their very names."""
    return all(
        each.strip().rpartition(":")[0].strip("[]") in ("localhost", "127.0.0.1", "::1") for each in servers.split(",")
    )
