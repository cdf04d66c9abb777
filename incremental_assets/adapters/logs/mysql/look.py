"""A light look at a server's binlog: how it is written, up to where what it has is visible, which files there are, and how tables that are read from it look."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

import pymysql

from incremental_assets.adapters.databases.mysql.connect import Connection
from incremental_assets.adapters.databases.mysql.flavour import MARIADB
from incremental_assets.adapters.databases.mysql.stored_names import owners
from incremental_assets.adapters.databases.mysql.types import spark_type
from incremental_assets.adapters.logs.mysql.layout import Shape
from incremental_assets.adapters.logs.mysql.statements import Name
from incremental_assets.core.model.column import Column

SETTINGS = (
    "log_bin",
    "binlog_format",
    "binlog_row_image",
    "binlog_row_metadata",
    "binlog_row_value_options",
    "binlog_transaction_compression",
    "log_bin_compress",
    "gtid_mode",
    "log_slave_updates",
    "log_replica_updates",
    "binlog_checksum",
    "server_id",
    "server_uuid",
    "gtid_binlog_state",
    "gtid_purged",
)
_REPLICA = "SELECT COUNT(*) FROM information_schema.processlist WHERE user = 'system user' AND command <> 'Daemon'"
_COLLATIONS = "SELECT id, character_set_name FROM information_schema.{} WHERE id IS NOT NULL"
_OF_CHARSETS, _NO_COLUMN = "collation_character_set_applicability", 1054
"""MariaDB's list of collations since 10.10, which one name has for several charsets; before that, and of MySQL, it has no numbers."""
_COLUMNS = """
SELECT table_schema, table_name, column_name, data_type, column_type, COALESCE(character_set_name, '') FROM information_schema.columns
WHERE (table_schema, table_name) IN ({}) ORDER BY table_schema, table_name, ordinal_position
"""


@dataclass(frozen=True, slots=True)
class Described:
    """A table as the catalogue has it now: of each column its name, its type without and with its details, and its charset."""

    columns: tuple[tuple[str, str, str, str], ...]
    cascades: bool = False
    """Whether a foreign key of it changes its rows with those of another table, which no log tells."""

    @property
    def shape(self) -> Shape:
        """What decoding asks of it."""
        return Shape(
            {name: "unsigned" in declared or "zerofill" in declared for name, _, declared, _ in self.columns},
            {name: charset for name, _, _, charset in self.columns},
            tuple(Column(name, declared, *spark_type(declared)) for name, _, declared, _ in self.columns),
        )


@dataclass(frozen=True, slots=True)
class Look:
    """What a server says at one moment."""

    at: datetime
    is_mariadb: bool
    settings: Mapping[str, str]
    is_replica: bool
    filters: tuple[str, ...]
    """Databases that alone are written to the log, or are not."""
    file: str
    """The name of a file of the log; empty where there is none."""
    visible: tuple[int, int]
    """The file and the place in it up to which all that the log has is visible, as far as `executed` does not say less."""
    executed: str
    """Which transactions are visible, where the server says so: none but these may be read."""
    files: Mapping[int, int]
    """Of each file by its number how long it is."""

    @property
    def server(self) -> str:
        """Which server it is."""
        return self.settings.get("server_uuid") or f"server {self.settings.get('server_id', '')}"

    def is_on(self, name: str) -> bool:
        """Of a setting that this server may not have."""
        return self.settings.get(name, "OFF").upper() in ("ON", "1")

    def bytes_from(self, file: int, offset: int) -> int:
        """How much of the log lies behind a place."""
        return sum(size for number, size in self.files.items() if number > file) + max(
            0, self.files.get(file, 0) - offset
        )


def look(connection: Connection) -> Look:
    """Some light statements, for any number of tables. Raises what the driver raises."""
    names = ", ".join(f"'{name}'" for name in SETTINGS)
    told = connection.rows(f"SHOW GLOBAL VARIABLES WHERE Variable_name IN ({names})")
    settings = {(name or "").lower(): value or "" for name, value in told}
    (at,) = connection.row("SELECT UTC_TIMESTAMP(6)")
    is_mariadb = connection.flavour is MARIADB
    moment = datetime.fromisoformat(at).replace(tzinfo=UTC)
    is_replica = connection.row(_REPLICA)[0] != "0"
    status = connection.binlog_status() if settings.get("log_bin", "").upper() in ("ON", "1") else ()
    if not status:
        return Look(moment, is_mariadb, settings, is_replica, (), "", (0, 0), "", {})
    file, offset, only, never, *more = (each or "" for each in status)
    if is_mariadb:
        file, offset = _place_of_a_snapshot(connection)
    files = {_number(name): int(size) for name, size, *_ in connection.rows("SHOW BINARY LOGS") if name and size}
    executed = "".join(more[0].split()) if more else ""
    filters = tuple(each for each in (only, never) if each)
    return Look(moment, is_mariadb, settings, is_replica, filters, file, (_number(file), int(offset)), executed, files)


def collations(connection: Connection) -> dict[int, str]:
    """The charset of each collation, by its number."""
    try:
        rows = connection.rows(_COLLATIONS.format(_OF_CHARSETS))
    except pymysql.OperationalError as error:
        if error.args[0] != _NO_COLUMN:
            raise
        rows = connection.rows(_COLLATIONS.format("collations"))
    return {int(number or 0): name or "" for number, name in rows}


def described(connection: Connection, tables: Collection[Name]) -> dict[Name, Described]:
    """Those of the tables that are there."""
    if not tables:
        return {}
    marks = ", ".join("(%s, %s)" for _ in tables)
    found: dict[Name, list[tuple[str, str, str, str]]] = defaultdict(list)
    for row in connection.rows(_COLUMNS.format(marks), [each for name in tables for each in name]):
        schema, table, name, kind, declared, charset = (each or "" for each in row)
        found[schema, table].append((name, kind.lower(), declared.lower(), charset))
    cascading = _cascading(connection, set(found))
    return {name: Described(tuple(columns), name in cascading) for name, columns in found.items()}


def _cascading(connection: Connection, tables: Collection[Name]) -> set[Name]:
    """Of MariaDB asked with the privilege PROCESS, as the standard's list is hidden there from whoever only reads. Bits: what a DELETE and an UPDATE do to rows that refer."""
    if connection.flavour is MARIADB:
        rows = connection.rows("SELECT for_name FROM information_schema.INNODB_SYS_FOREIGN WHERE type & 15 <> 0")
        return {(str(schema), str(name)) for (stored,) in rows for schema, name in owners(stored, tables)}
    rows = connection.rows(
        "SELECT constraint_schema, table_name FROM information_schema.referential_constraints "
        "WHERE delete_rule IN ('CASCADE', 'SET NULL') OR update_rule IN ('CASCADE', 'SET NULL')"
    )
    return {(str(schema), str(name)) for schema, name in rows}


def _place_of_a_snapshot(connection: Connection) -> tuple[str, str]:
    with connection.snapshot():
        name, offset = connection.place_of_snapshot().rsplit(":", 1)
        return name, offset


def _number(name: str) -> int:
    return int(name.rpartition(".")[2])
