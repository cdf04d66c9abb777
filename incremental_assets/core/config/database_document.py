"""A source that is a database, as written."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from incremental_assets.core.config.database_settings import ConnectionOptions, Tls
from incremental_assets.core.config.dialects import facts_of
from incremental_assets.core.config.document import SourceDocument
from incremental_assets.core.config.scalars import (
    DatabaseName,
    Duration,
    Host,
    HostInPlace,
    Located,
    Port,
    PositiveDuration,
    Secret,
    Size,
    SlotName,
    Strict,
    Text,
)
from incremental_assets.core.config.settings import BackfillTerms
from incremental_assets.core.config.table_document import TimePartitions
from incremental_assets.core.model.naming import ColumnNames
from incremental_assets.core.model.number_keys import MOST_KEYS
from incremental_assets.core.model.partition import Every

_OPTIONS, _BACKFILL = ConnectionOptions(), BackfillTerms()


def _no_size(value: object) -> object:
    if isinstance(value, dict) and "size" in value:
        raise ValueError(
            "the grid of a source is one of time; write `partitions: {size: …}` at the tables with an integer cursor"
        )
    return value


class OptionsDocument(Strict):
    """Deadlines of one connection."""

    connect_timeout: PositiveDuration = _OPTIONS.connect_timeout
    socket_timeout: PositiveDuration = _OPTIONS.socket_timeout
    statement_timeout: PositiveDuration = _OPTIONS.statement_timeout


class BackfillDocument(Strict):
    """How a backfill limits its load on the source."""

    windows: Annotated[
        int, Field(ge=1, le=MOST_KEYS, description="Partitions that are read at once, and land as one commit.")
    ] = _BACKFILL.windows
    connections: Annotated[
        int | None, Field(ge=1, le=64, description="Connections of one read; as many as a sync has when absent.")
    ] = _BACKFILL.connections
    pause: Annotated[Duration, Field(description="Rest between two reads.")] = _BACKFILL.pause


class LogDocument(Strict):
    """The source's log, where tables are read from it."""

    slot: Annotated[
        SlotName | None, Field(description="The replication slot; `incremental_assets_` and the source when absent.")
    ] = None
    publication: Annotated[SlotName | None, Field(description="The publication; named as the slot when absent.")] = None
    max_slot_lag: Annotated[
        Size | None,
        Field(description="A run warns where the source keeps more of its log for the slot; 10GiB when absent."),
    ] = None
    folder: Annotated[
        Text | None,
        Field(
            description="Where what was read is kept until all tables have landed it, on a disk of this machine; in the lake when absent."
        ),
    ] = None

    @property
    def of_slot(self) -> frozenset[str]:
        """The keys that are written of what a server keeps for us."""
        return frozenset(self.model_fields_set - {"folder"})


class SshDocument(Strict):
    """The server of SSH through which the database is reached."""

    host: Annotated[HostInPlace, Field(description="The server's name or address.")]
    port: Annotated[int, Field(ge=1, le=65535)] = 22
    user: Text
    key: Annotated[Secret, Field(description="The private key.", examples=[{"file": "./tunnel_key"}])]
    passphrase: Annotated[Secret | None, Field(description="That of the key, where it has one.")] = None
    known_hosts: Annotated[
        Text | None,
        Field(
            description="The file with the keys of known servers, relative to this one; ~/.ssh/known_hosts when absent."
        ),
    ] = None


class DatabaseDocument(SourceDocument):
    """One database."""

    host: Annotated[Host | None, Field(description="Of a server; a file has none.")] = None
    port: Annotated[Port, Field(description="3306 of MariaDB and MySQL when absent.")] = 5432
    database: Annotated[
        Located | None, Field(description="Its name; of a dialect in files the path, relative to this one.")
    ] = None
    databases: Annotated[
        tuple[DatabaseName, ...] | None,
        Field(
            min_length=1,
            description="In place of `database`: several of one server, each a source of its own, with its name behind that of this one.",
            examples=[["eu", "us"]],
        ),
    ] = None
    user: Located | None = None
    ssh: Annotated[
        SshDocument | None, Field(description="A server of SSH through which `host` and `port` are reached.")
    ] = None
    password: Secret | None = None
    mask_key: Annotated[
        Secret | None,
        Field(description="The key of tokens, by which columns are masked with `hmac`: 32 characters at least."),
    ] = None
    tls: Annotated[Tls | None, Field(description="verify-full when absent; on loopback, disable.")] = None
    options: OptionsDocument = OptionsDocument()
    fetch_size: Annotated[int, Field(ge=1, le=1_000_000, description="Rows fetched in one round trip.")] = 1000
    schemas: Annotated[
        tuple[Text, ...] | None,
        Field(
            min_length=1,
            description="Where unlisted tables are looked for; `public` when absent; `main` of a file, and of MariaDB and MySQL the database.",
        ),
    ] = None
    unlisted: Annotated[
        Literal["full_refresh", "ignore"], Field(description="What happens to tables that are not listed.")
    ] = "full_refresh"
    exclude: Annotated[
        tuple[Text, ...],
        Field(
            description="Globs over schema.table, or over the table's name alone: which of the tables that are not listed are left out.",
            examples=[["audit.*", "*_backup"]],
        ),
    ] = ()
    column_names: Annotated[
        ColumnNames,
        Field(
            description="How the columns of copies are named: as in the source, or in small letters, digits and `_`."
        ),
    ] = ColumnNames.KEEP
    refresh_every: Annotated[Duration, Field(description="How often full_refresh tables are read again.")] = timedelta(
        days=1
    )
    backfill: BackfillDocument = BackfillDocument()
    partitions: Annotated[TimePartitions, BeforeValidator(_no_size)] = TimePartitions(every=Every.MONTH)
    log: LogDocument = LogDocument()

    @property
    def searched(self) -> tuple[str, ...]:
        """The schemas in which tables are looked for; a database that only a reference names has its own written beside it."""
        if self.schemas:
            return self.schemas
        facts = facts_of(self.dialect)
        if facts.schema_is_database and isinstance(self.database, str):
            return (self.database,)
        if facts.schema_is_user and isinstance(self.user, str):
            return (self.user.upper(),)
        return (facts.schema,)
