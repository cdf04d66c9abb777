"""What `doctor` asks the server, and the SQL that an administrator runs to fix what is missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from incremental_assets.adapters.databases.dialect import Address
from incremental_assets.adapters.databases.grants import Words, table_statements
from incremental_assets.core.checks.doctor import Cures, SourceFacts, Wanted
from incremental_assets_experimental.oracle import bound
from incremental_assets_experimental.oracle.catalogue import hiding_tables
from incremental_assets_experimental.oracle.words import identifier, relation, text
from incremental_assets_experimental.rowwise.activity import moment, zone_of
from incremental_assets_experimental.rowwise.facts import Questions, table_facts
from incremental_assets_experimental.rowwise.row_dialect import UNPLAYED, RowConnection

VERSION = """
SELECT (SELECT MAX(VERSION) FROM PRODUCT_COMPONENT_VERSION), SYS_CONTEXT('USERENV', 'SESSION_USER'),
       (SELECT COUNT(*) FROM SESSION_ROLES WHERE ROLE = 'DBA') FROM DUAL
"""
_TABLE = """
SELECT CASE WHEN o.OBJECT_TYPE = 'TABLE' THEN 1 ELSE 0 END, 1,
       (SELECT COUNT(*) FROM ALL_TAB_PRIVS p WHERE p.TABLE_SCHEMA = o.OWNER AND p.TABLE_NAME = o.OBJECT_NAME AND p.PRIVILEGE IN ('INSERT', 'UPDATE', 'DELETE')
        AND (p.GRANTEE IN (USER, 'PUBLIC') OR p.GRANTEE IN (SELECT ROLE FROM SESSION_ROLES)))
       + (SELECT COUNT(*) FROM SESSION_PRIVS WHERE PRIVILEGE IN ('INSERT ANY TABLE', 'UPDATE ANY TABLE', 'DELETE ANY TABLE'))
       + CASE WHEN o.OWNER = USER THEN 1 ELSE 0 END,
       t.NUM_ROWS, CASE WHEN t.PARTITIONED = 'YES' THEN 1 ELSE 0 END
FROM ALL_OBJECTS o LEFT JOIN ALL_TABLES t ON t.OWNER = o.OWNER AND t.TABLE_NAME = o.OBJECT_NAME
WHERE o.OWNER = {schema} AND o.OBJECT_NAME = {name} AND o.OBJECT_TYPE IN ('TABLE', 'VIEW')
"""
_INDEXED = """
SELECT COUNT(*) FROM ALL_IND_COLUMNS k WHERE k.TABLE_OWNER = {schema} AND k.TABLE_NAME = {name} AND k.COLUMN_POSITION = 1 AND k.COLUMN_NAME = {column}
"""
_QUESTIONS = Questions(_TABLE, _INDEXED, lambda table: {"schema": text(table.schema), "name": text(table.name)}, text)
_WORDS = Words(relation, identifier, "REVOKE INSERT, UPDATE, DELETE ON {} FROM {};")
_CURES = Cures(
    unseen_transactions="grant SELECT on SYS.V_$SESSION and SYS.V_$TRANSACTION, by which the transactions of other users can be seen",
    no_identity="grant SELECT on SYS.V_$DATABASE",
)


def read_facts(connection: RowConnection, wanted: Sequence[Wanted]) -> SourceFacts:
    """The server as this user finds it, with one entry per wanted table, in their order."""
    ((version, user, is_admin),) = connection.rows(VERSION)
    found, hiding = bound.asked(connection), hiding_tables(connection)
    return SourceFacts(
        version=f"Oracle {version}",
        user=str(user),
        # The driver brings every text as Unicode.
        encoding="UTF8",
        is_superuser=bool(is_admin),
        sees_transactions=found.sees,
        tracks_activities=True,
        says_which=found.identity is not None,
        is_replica=found.role != "PRIMARY",
        zone=zone_of(int(found.clock[1])),
        clock=moment(found.clock[0]),
        tables=tuple(
            table_facts(connection, each, _QUESTIONS, filtered=(each.table.schema, each.table.name) in hiding)
            for each in wanted
        ),
        cures=_CURES,
        experimental=f"the dialect oracle is {UNPLAYED}",
        unsettled=bound.blind(found) if found.sees else "",
    )


def missing_sql(
    address: Address, wanted: Sequence[Wanted], facts: SourceFacts | None, whole: Sequence[str] = ()
) -> str:
    """Statements for an administrator, without any password; empty when nothing is missing. Without facts, everything that a new user needs."""
    user = identifier(address.user.upper() if facts is None else facts.user)
    lines: list[str] = []
    if facts is None:
        lines += [
            f"CREATE USER {user} NO AUTHENTICATION;",
            f'-- then give it a password: ALTER USER {user} IDENTIFIED BY "…"',
            f"GRANT CREATE SESSION TO {user};",
        ]
    if facts is None or not (facts.sees_transactions and facts.says_which):
        lines += [f"GRANT SELECT ON {view} TO {user};" for view in bound.VIEWS]
    unknown = tuple(whole) if facts is None else ()
    if unknown:
        lines.append("-- before 23ai there is no grant on a schema: grant each of its tables")
    lines += [f"GRANT SELECT ANY TABLE ON SCHEMA {identifier(schema)} TO {user};" for schema in unknown]
    owned = [each for each in facts.tables if each.writable and each.wanted.table.schema == facts.user] if facts else []
    if facts and owned:
        # Of what is its own, nobody can take a right from a user.
        lines += [f"-- {relation(each.wanted.table)} belongs to {user}: read it as another user" for each in owned]
        others = tuple(replace(each, writable=each.writable and each not in owned) for each in facts.tables)
        facts = replace(facts, tables=others)
    lines += table_statements(_WORDS, user, facts, wanted, unknown)
    return "\n".join(lines)
