"""What `doctor` asks the server, and the SQL that an administrator runs to fix what is missing."""

from __future__ import annotations

from collections.abc import Sequence

from incremental_assets.adapters.databases.dialect import Address
from incremental_assets.adapters.databases.grants import Words, table_statements
from incremental_assets.core.checks.doctor import Cures, SourceFacts, Wanted
from incremental_assets_experimental.rowwise.activity import moment, zone_of
from incremental_assets_experimental.rowwise.facts import Questions, table_facts
from incremental_assets_experimental.rowwise.row_dialect import UNPLAYED, RowConnection
from incremental_assets_experimental.sqlserver.bound import CLOCK, SERVER, blind
from incremental_assets_experimental.sqlserver.catalogue import hiding_tables
from incremental_assets_experimental.sqlserver.words import identifier, relation, text

VERSION = (
    "SELECT CONVERT(nvarchar(128), SERVERPROPERTY('ProductVersion')), ORIGINAL_LOGIN(), IS_SRVROLEMEMBER('sysadmin')"
)
_WORDS = Words(relation, identifier, "DENY INSERT, UPDATE, DELETE ON {} TO {};")
_CURES = Cures(
    unseen_transactions="grant VIEW SERVER STATE to the login, by which the transactions of other users can be seen",
    no_identity="grant VIEW SERVER STATE and VIEW ANY DEFINITION to the login",
)
TABLE = """
SELECT CASE WHEN o.type = 'U' THEN 1 ELSE 0 END, HAS_PERMS_BY_NAME({place}, N'OBJECT', N'SELECT'),
       ISNULL(HAS_PERMS_BY_NAME({place}, N'OBJECT', N'INSERT'), 0) + ISNULL(HAS_PERMS_BY_NAME({place}, N'OBJECT', N'UPDATE'), 0)
       + ISNULL(HAS_PERMS_BY_NAME({place}, N'OBJECT', N'DELETE'), 0),
       (SELECT SUM(p.rows) FROM sys.partitions AS p WHERE p.object_id = o.object_id AND p.index_id < 2),
       (SELECT COUNT(*) FROM sys.partitions AS p WHERE p.object_id = o.object_id AND p.index_id < 2 AND p.partition_number > 1)
FROM sys.objects AS o WHERE o.object_id = OBJECT_ID({place}) AND o.type IN ('U', 'V')
"""
INDEXED = """
SELECT COUNT(*) FROM sys.index_columns AS k JOIN sys.indexes AS x ON x.object_id = k.object_id AND x.index_id = k.index_id
WHERE k.object_id = OBJECT_ID({place}) AND k.key_ordinal = 1 AND x.is_disabled = 0 AND x.has_filter = 0 AND COL_NAME(k.object_id, k.column_id) = {column}
"""
_QUESTIONS = Questions(TABLE, INDEXED, lambda table: {"place": text(relation(table))}, text)


def read_facts(connection: RowConnection, wanted: Sequence[Wanted]) -> SourceFacts:
    """The server as this user finds it, with one entry per wanted table, in their order."""
    ((version, user, is_admin),) = connection.rows(VERSION)
    ((clock, offset),) = connection.rows(CLOCK)
    ((database, updateability, snapshots, sees),) = connection.rows(SERVER)
    hiding = hiding_tables(connection)
    return SourceFacts(
        version=f"SQL Server {version}",
        user=str(user),
        # The driver brings every text as Unicode.
        encoding="UTF8",
        is_superuser=bool(is_admin),
        sees_transactions=bool(sees),
        tracks_activities=True,
        says_which=bool(sees),
        is_replica=updateability == "READ_ONLY",
        zone=zone_of(int(offset)),
        clock=moment(clock),
        tables=tuple(
            table_facts(connection, each, _QUESTIONS, filtered=(each.table.schema, each.table.name) in hiding)
            for each in wanted
        ),
        cures=_CURES,
        experimental=f"the dialect sqlserver is {UNPLAYED}",
        unsettled=blind(str(database), str(updateability), snapshots=snapshots == 1, sees=True),
    )


def missing_sql(
    address: Address, wanted: Sequence[Wanted], facts: SourceFacts | None, whole: Sequence[str] = ()
) -> str:
    """Statements for an administrator, without any password; empty when nothing is missing. Without facts, everything that a new user needs."""
    name = address.user if facts is None else facts.user
    user, database = identifier(name), identifier(address.database)
    server: list[str] = []
    if facts is None:
        server.append(f"-- first give it a login: CREATE LOGIN {user} WITH PASSWORD = N'…'")
    if facts is None or not facts.sees_transactions:
        server += [f"GRANT VIEW SERVER STATE TO {user};", f"GRANT VIEW ANY DEFINITION TO {user};"]
    if facts is None or (facts.unsettled and not facts.is_replica):
        server.append(f"ALTER DATABASE {database} SET ALLOW_SNAPSHOT_ISOLATION ON;")
    local = _in_database(user, wanted, facts, whole)
    return "\n".join(
        [*(["USE [master];", *server] if server else []), *([f"USE {database};", *local] if local else [])]
    )


def _in_database(user: str, wanted: Sequence[Wanted], facts: SourceFacts | None, whole: Sequence[str]) -> list[str]:
    lines = [f"CREATE USER {user} FOR LOGIN {user};"] if facts is None else []
    unknown = tuple(whole) if facts is None else ()
    lines += [f"GRANT SELECT ON SCHEMA::{identifier(schema)} TO {user};" for schema in unknown]
    lines += table_statements(_WORDS, user, facts, wanted, unknown)
    return lines
