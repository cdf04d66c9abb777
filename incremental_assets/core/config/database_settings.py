"""How a database is reached: what only a source of this kind has."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from incremental_assets.core.config.dialects import facts_of
from incremental_assets.core.config.settings import Reference, SourceConfig, SourceSettings
from incremental_assets.core.model.dataset import Dataset

REFERABLE = ("host", "port", "database", "user", "password")
"""Keys of a source whose value may be a reference."""
_WITH_TLS = "write verify-full, verify-ca or require once the server has TLS"


class Tls(StrEnum):
    """How the connection is protected, in the words of `sslmode`."""

    VERIFY_FULL = "verify-full"
    VERIFY_CA = "verify-ca"
    REQUIRE = "require"
    DISABLE = "disable"


@dataclass(frozen=True, slots=True)
class ConnectionOptions:
    """Deadlines of one connection; a driver's own defaults wait forever on a dead socket."""

    connect_timeout: timedelta = timedelta(seconds=10)
    socket_timeout: timedelta = timedelta(seconds=60)
    statement_timeout: timedelta = timedelta(minutes=15)


@dataclass(frozen=True, slots=True)
class LogTerms:
    """How a source's log is read."""

    slot: str = ""
    publication: str = ""
    max_slot_lag: int = 10 << 30
    """Bytes of its log that the source may keep for us before a run warns."""
    folder: str = ""
    """Where what was read of it is kept; empty: in the lake."""


@dataclass(frozen=True, slots=True)
class SshTerms:
    """The server of SSH through which a database is reached."""

    host: str
    port: int
    user: str
    known_hosts: str = ""
    """The file of the keys of known servers; empty: that of the user."""


@dataclass(frozen=True, slots=True)
class DatabaseSettings(SourceSettings):
    """One database."""

    dialect: str
    host: str | Reference
    port: int | Reference
    database: str | Reference
    user: str | Reference
    password: Reference | None = None
    tls: Tls = Tls.VERIFY_FULL
    options: ConnectionOptions = ConnectionOptions()
    fetch_size: int = 1000
    log: LogTerms = LogTerms()
    mask_key: Reference | None = None
    ssh: SshTerms | None = None
    ssh_key: Reference | None = None
    ssh_passphrase: Reference | None = None

    @property
    def secrets(self) -> tuple[Reference, ...]:
        """Those of the password, of the key by which columns are masked, and of the way there."""
        named = (self.password, self.mask_key, self.ssh_key, self.ssh_passphrase)
        return tuple(each for each in named if each is not None)

    @property
    def unencrypted(self) -> tuple[str, str] | None:
        """That rows and the password may cross a network that others read; None unless `tls: disable` is written for a host that is not loopback, or for a reference."""
        if self.tls is not Tls.DISABLE or facts_of(self.dialect).is_file:
            return None
        if isinstance(self.host, Reference):
            said = f"rows and the password cross the network unencrypted, as `tls: disable` is written, unless {self.host} is this machine"
        elif is_loopback(self.host):
            return None
        else:
            said = f"rows and the password cross the network to {self.host} unencrypted, as `tls: disable` is written"
        return (f"{said}, behind the SSH server" if self.ssh else said), _WITH_TLS

    def dataset(self, schema: str, table: str) -> Dataset:
        """By its server, which a file has not."""
        facts = facts_of(self.dialect)
        if facts.is_file:
            return Dataset(f"{facts.lineage or self.dialect}://{self.database}", f"{schema}.{table}")
        within = "" if facts.schema_is_database else f"{self.database}."
        return Dataset(f"{facts.lineage or self.dialect}://{self.host}:{self.port}", f"{within}{schema}.{table}")


def is_database(source: SourceConfig) -> bool:
    """Whether the source is one, which has a user to whom something may be granted."""
    return isinstance(source.settings, DatabaseSettings)


def database_of(source: SourceConfig) -> DatabaseSettings:
    """The settings of a source that is a database. TypeError where it is of another kind."""
    if not isinstance(source.settings, DatabaseSettings):
        raise TypeError(f"{source.name} is no database")
    return source.settings


def is_loopback(host: str) -> bool:
    """Whether the host is this machine by its very name, so that nothing crosses a network."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"
