"""What `doctor` asks the server, and the SQL that an administrator runs to fix what is missing."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import pymysql

from incremental_assets.adapters.databases.dialect import Address
from incremental_assets.adapters.databases.grants import Words, table_statements
from incremental_assets.adapters.databases.mysql.connect import Connection
from incremental_assets.adapters.databases.mysql.errors import INSTALL_MD5, MISSING_MD5
from incremental_assets.adapters.databases.mysql.sql import identifier, relation
from incremental_assets.adapters.databases.mysql.zone import server_zone
from incremental_assets.core.checks.doctor import Cures, SourceFacts, TableFacts, Wanted

_SERVER = "SELECT VERSION(), CURRENT_USER(), @@global.time_zone, @@system_time_zone, UTC_TIMESTAMP(6)"
_WORDS = Words(relation, identifier, "REVOKE INSERT, UPDATE, DELETE, DROP ON {} FROM {};")
_CURES = Cures(
    unseen_transactions="grant PROCESS, by which the transactions of other users can be seen",
    role_zones="have `init_connect` set no time zone, or name the one in which rows are stamped, `cursor: {zone: …}`",
)
_PRIVILEGES = "SELECT privilege_type FROM information_schema.user_privileges"
_ON_TABLES = """
SELECT privilege_type FROM information_schema.table_privileges WHERE table_schema = %s AND table_name = %s
UNION SELECT privilege_type FROM information_schema.schema_privileges WHERE %s LIKE table_schema
"""
_REPLICA = "SELECT COUNT(*) FROM information_schema.processlist WHERE user = 'system user' AND command <> 'Daemon'"
_TABLE = """
SELECT table_type, COALESCE(table_rows, 0), COALESCE(data_length, 0), COALESCE(create_options, '') LIKE '%%partitioned%%'
FROM information_schema.tables WHERE table_schema = %s AND table_name = %s
"""
_ROOM = """
SELECT COUNT(*), @@max_connections, @@max_user_connections,
       COUNT(CASE WHEN user = SUBSTRING_INDEX(CURRENT_USER(), '@', 1) THEN 1 END)
FROM information_schema.processlist WHERE command NOT IN ('Daemon', 'Binlog Dump')
"""
_INDEXED = """
SELECT COUNT(*) FROM information_schema.statistics WHERE table_schema = %s AND table_name = %s AND column_name = %s AND seq_in_index = 1
"""
_WRITES = frozenset(("INSERT", "UPDATE", "DELETE", "DROP"))


def read_facts(connection: Connection, wanted: Sequence[Wanted]) -> SourceFacts:
    """The server as this user finds it, with one entry per wanted table, in their order."""
    version, user, zone, machine, clock = connection.row(_SERVER)
    privileges = {name for (name,) in connection.rows(_PRIVILEGES) if name}
    return SourceFacts(
        version=version,
        user=user,
        encoding="UTF8",
        is_superuser="SUPER" in privileges,
        sees_transactions=sees_transactions(connection),
        tracks_activities=True,
        says_which=True,
        is_replica=connection.row(_REPLICA)[0] != "0",
        zone=server_zone(zone, machine),
        clock=datetime.fromisoformat(clock).replace(tzinfo=UTC),
        room=_room(connection),
        not_compared="" if _answers(connection, "SELECT MD5('')") else MISSING_MD5,
        tables=tuple(_facts(connection, each, privileges) for each in wanted),
        cures=_CURES,
    )


def _room(connection: Connection) -> int | None:
    """What the server has left, and what this user's own limit leaves; None where this user does not see the others."""
    if not sees_transactions(connection):
        return None
    everybody, allowed, limit, ours = connection.row(_ROOM)
    left = int(allowed) - int(everybody)
    return max(0, min(left, int(limit) - int(ours)) if int(limit) else left) + 1


def sees_transactions(connection: Connection) -> bool:
    """Asked for, as the privilege may come by a role, which the list of privileges does not show."""
    return _answers(connection, "SELECT 1 FROM information_schema.innodb_trx LIMIT 1")


def _answers(connection: Connection, question: str) -> bool:
    try:
        connection.rows(question)
    except pymysql.Error:
        return False
    return True


def missing_sql(
    address: Address, wanted: Sequence[Wanted], facts: SourceFacts | None, whole: Sequence[str] = ()
) -> str:
    """Statements for an administrator, without any password; empty when nothing is missing. Without facts, everything that a new user needs."""
    user = _account(address.user if facts is None else facts.user)
    lines: list[str] = []
    if facts is None:
        lines += [
            f"CREATE USER {user} ACCOUNT LOCK;",
            f"-- then give it a password and let it in: ALTER USER {user} IDENTIFIED BY '…' ACCOUNT UNLOCK",
        ]
    if facts is None or not facts.sees_transactions:
        lines.append(f"GRANT PROCESS ON *.* TO {user};")
    if facts is not None and facts.not_compared:
        lines.append(f"{INSTALL_MD5};")
    unknown = tuple(whole) if facts is None else ()
    lines += [f"GRANT SELECT ON {identifier(schema)}.* TO {user};" for schema in unknown]
    lines += table_statements(_WORDS, user, facts, wanted, unknown)
    return "\n".join(lines).replace("%%", "%")


def _facts(connection: Connection, wanted: Wanted, privileges: set[str]) -> TableFacts:
    place = (wanted.table.schema, wanted.table.name)
    found = connection.rows(_TABLE, place)
    if not found:
        return TableFacts(wanted)
    kind, rows, size, partitioned = found[0]
    granted = privileges | {name for (name,) in connection.rows(_ON_TABLES, (*place, wanted.table.schema)) if name}
    is_table = kind != "VIEW"
    return TableFacts(
        wanted=wanted,
        exists=True,
        usable=True,
        readable=True,
        writable=is_table and not _WRITES.isdisjoint(granted),
        unindexed=tuple(
            column for column in wanted.cursors if is_table and connection.row(_INDEXED, (*place, column))[0] == "0"
        ),
        rows=int(rows or 0),
        bytes=int(size or 0),
        partitioned=partitioned == "1",
    )


def _account(name: str) -> str:
    """A user with the host from which it comes; `%` where none is named."""
    user, _, host = name.partition("@")
    quoted = [part.replace("'", "''") for part in (user, host or "%")]
    return f"'{quoted[0]}'@'{quoted[1]}'"
