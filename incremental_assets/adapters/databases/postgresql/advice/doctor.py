"""The queries of `doctor` to PostgreSQL, and the SQL by which an administrator fixes what is missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from incremental_assets.adapters.databases.dialect import Address
from incremental_assets.adapters.databases.postgresql.advice.cures import CURES
from incremental_assets.adapters.databases.postgresql.advice.shared_role import settings_put_aside, shared_with
from incremental_assets.adapters.databases.postgresql.asked import Asked
from incremental_assets.adapters.databases.postgresql.batch import one_row
from incremental_assets.adapters.databases.postgresql.fragments import BEGINS_WITH
from incremental_assets.adapters.databases.postgresql.settled.bound import LOGIN_TRIGGER, database_zone
from incremental_assets.adapters.databases.postgresql.sql import identifier
from incremental_assets.core.checks.doctor import SourceFacts, TableFacts, Wanted, there, unseen
from incremental_assets.core.model.table_id import TableId

_SOURCE = f"""
SELECT current_setting('server_version'), current_user, current_setting('server_encoding'),
       (SELECT rolsuper FROM pg_roles WHERE rolname = current_user), pg_has_role('pg_read_all_stats', 'USAGE'),
       current_setting('track_activities')::boolean,
       has_function_privilege('pg_control_system()', 'EXECUTE') AND has_function_privilege('pg_control_checkpoint()', 'EXECUTE'),
       pg_is_in_recovery(), clock_timestamp(), {LOGIN_TRIGGER}
"""

# The limits and what is taken of each: by all clients, by those of this database, and by those of this user in all databases. A superuser has no limit but the server's.
_ROOM = """
SELECT least(
    current_setting('max_connections')::int - n.everybody - CASE WHEN r.rolsuper THEN 0
        ELSE current_setting('superuser_reserved_connections')::int
             + CASE WHEN r.reserved THEN 0 ELSE coalesce(current_setting('reserved_connections', true), '0')::int END END,
    CASE WHEN d.datconnlimit < 0 OR r.rolsuper THEN NULL ELSE d.datconnlimit - n.here END,
    CASE WHEN r.rolconnlimit < 0 OR r.rolsuper THEN NULL ELSE r.rolconnlimit - n.ours END) + 1
FROM (SELECT rolsuper, rolconnlimit,
             EXISTS (SELECT FROM pg_roles AS u WHERE u.rolname = 'pg_use_reserved_connections' AND pg_has_role(u.oid, 'USAGE')) AS reserved
      FROM pg_roles WHERE rolname = current_user) AS r,
     (SELECT datconnlimit FROM pg_database WHERE datname = current_database()) AS d,
     (SELECT count(*)::int AS everybody, count(*) FILTER (WHERE datname = current_database())::int AS here,
             count(*) FILTER (WHERE usename = current_user)::int AS ours
      FROM pg_stat_activity WHERE backend_type IN ('client backend', 'walsender') OR backend_type IS NULL) AS n
"""

# Asked of pg_class by name, as a cast to regclass fails on what may not be seen. For the size of a table that is being altered the function would wait.
_TABLES = """
SELECT w.place, has_schema_privilege(n.oid, 'USAGE'), has_table_privilege(c.oid, 'SELECT') OR has_any_column_privilege(c.oid, 'SELECT'),
       c.relkind IN ('r', 'p') AND has_table_privilege(c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE'), row_security_active(c.oid),
       greatest(c.reltuples, 0)::bigint, CASE WHEN c.relkind IN ('r', 'm') AND l.relation IS NULL THEN pg_table_size(c.oid) ELSE 0 END,
       c.relkind = 'p'
FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS w (schema, name, place)
JOIN pg_namespace AS n ON n.nspname = w.schema JOIN pg_class AS c ON c.relnamespace = n.oid AND c.relname = w.name
LEFT JOIN (SELECT DISTINCT relation FROM pg_locks WHERE locktype = 'relation' AND mode = 'AccessExclusiveLock') AS l ON l.relation = c.oid
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f')
"""

# Views and foreign tables carry no index of their own, so none is missed there.
_CURSORS = f"""
SELECT w.place, c.relkind IN ('r', 'p', 'm') AND NOT EXISTS (
           SELECT FROM pg_index AS i WHERE i.indrelid = c.oid AND {BEGINS_WITH})
FROM unnest($1::text[], $2::text[], $3::text[]) WITH ORDINALITY AS w (schema, name, cursor_column, place)
JOIN pg_namespace AS n ON n.nspname = w.schema JOIN pg_class AS c ON c.relnamespace = n.oid AND c.relname = w.name
JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attname = w.cursor_column AND NOT a.attisdropped
"""

# Of a default, whoever owns the sequence, and of an identity.
_SEQUENCES = """
SELECT DISTINCT w.place, format('%I.%I', n.nspname, s.relname)
FROM unnest($1::text[], $2::text[], $3::text[]) WITH ORDINALITY AS w (schema, name, cursor_column, place)
JOIN pg_namespace AS t ON t.nspname = w.schema JOIN pg_class AS c ON c.relnamespace = t.oid AND c.relname = w.name
JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attname = w.cursor_column AND NOT a.attisdropped
CROSS JOIN LATERAL (
    SELECT d.refobjid AS oid FROM pg_attrdef AS e JOIN pg_depend AS d ON d.classid = 'pg_attrdef'::regclass AND d.objid = e.oid AND d.refclassid = 'pg_class'::regclass
    WHERE e.adrelid = c.oid AND e.adnum = a.attnum
    UNION SELECT d.objid FROM pg_depend AS d
    WHERE d.classid = 'pg_class'::regclass AND d.refclassid = 'pg_class'::regclass AND d.deptype = 'i' AND d.refobjid = c.oid AND d.refobjsubid = a.attnum
) AS f JOIN pg_sequence AS q ON q.seqrelid = f.oid JOIN pg_class AS s ON s.oid = q.seqrelid JOIN pg_namespace AS n ON n.oid = s.relnamespace
WHERE NOT has_sequence_privilege(q.seqrelid, 'SELECT, USAGE')
"""


def read_facts(asked: Asked, wanted: Sequence[Wanted]) -> SourceFacts:
    """The source as this user finds it, with one entry per wanted table, in their order."""
    version, user, encoding, is_superuser, sees, tracks, says, is_replica, clock, login_trigger = one_row(
        asked, _SOURCE
    )
    names = [each.table for each in wanted]
    found = {
        row[0]: row[1:]
        for row in asked.execute(_TABLES, ([t.schema for t in names], [t.name for t in names])).fetchall()
    }
    cursors = [(each.table, column) for each in wanted for column in each.cursors]
    asked_for = ([t.schema for t, _ in cursors], [t.name for t, _ in cursors], [column for _, column in cursors])
    unindexed = {cursors[place - 1] for place, missing in asked.execute(_CURSORS, asked_for).fetchall() if missing}
    drawn: dict[TableId, tuple[str, ...]] = {}
    for place, sequence in asked.execute(_SEQUENCES, asked_for).fetchall():
        table = cursors[place - 1][0]
        drawn[table] = (*drawn.get(table, ()), sequence)
    tables = [
        TableFacts(each)
        if place not in found
        else replace(_table(each, found[place], unindexed), sequences=drawn.get(each.table, ()))
        for place, each in enumerate(wanted, 1)
    ]
    zone = database_zone(asked)
    return SourceFacts(
        version=f"PostgreSQL {version}",
        user=user,
        encoding=encoding,
        is_superuser=is_superuser,
        sees_transactions=sees,
        tracks_activities=tracks,
        says_which=says,
        is_replica=is_replica,
        zone=zone.name,
        zone_is_guess=zone.is_guess,
        clock=clock,
        login_trigger=login_trigger or "",
        pooled=asked.connection.pooled,
        shared_with=shared_with(asked),
        # A pooler has limits of its own, which it does not tell.
        room=None if asked.connection.pooled or not sees else max(0, one_row(asked, _ROOM)[0]),
        put_aside=settings_put_aside(asked),
        tables=tuple(tables),
        cures=CURES,
    )


def missing_sql(
    address: Address, wanted: Sequence[Wanted], facts: SourceFacts | None, whole: Sequence[str] = ()
) -> str:
    """Statements for an administrator, without any password; empty when nothing is missing. Without facts, everything that a new role needs.

    `whole` are the schemas of which unlisted tables are wanted too: their names are unknown before the role has access.
    """
    user, database = identifier(address.user), identifier(address.database)
    lines: list[str] = []
    if facts is None:
        lines += [
            f"CREATE ROLE {user} LOGIN;",
            f"-- then give it a password in psql: \\password {user}",
            f"GRANT CONNECT ON DATABASE {database} TO {user};",
        ]
    if facts is None or not facts.sees_transactions:
        lines.append(f"GRANT pg_read_all_stats TO {user};")
    if facts is not None and not facts.says_which:
        lines.append(f"GRANT EXECUTE ON FUNCTION pg_control_system(), pg_control_checkpoint() TO {user};")
    tables = there(facts, wanted)
    lines += [
        f"-- {identifier(table.schema)}.{identifier(table.name)} is not there, so that nothing can be granted on it"
        for table in unseen(facts)
    ]
    unknown = tuple(whole) if facts is None else ()
    schemas = dict.fromkeys([*unknown, *(each.wanted.table.schema for each in tables if not each.usable)])
    lines += [f"GRANT USAGE ON SCHEMA {identifier(schema)} TO {user};" for schema in schemas]
    for schema in unknown:
        lines += [
            f"GRANT SELECT ON ALL TABLES IN SCHEMA {identifier(schema)} TO {user};",
            f"-- for tables that are made later, as the role that makes them: ALTER DEFAULT PRIVILEGES IN SCHEMA {identifier(schema)} GRANT SELECT ON TABLES TO {user};",
        ]
    lines += [
        f"GRANT SELECT ON {_name(each)} TO {user};"
        for each in tables
        if not each.readable and each.wanted.table.schema not in unknown
    ]
    # Which sequences there are only the source says.
    numbered = [each.wanted.table.schema for each in tables if each.wanted.cursors] if facts is None else []
    lines += [
        f"GRANT SELECT ON ALL SEQUENCES IN SCHEMA {identifier(schema)} TO {user};"
        for schema in dict.fromkeys([*unknown, *numbered])
    ]
    sequences = dict.fromkeys(sequence for each in tables for sequence in each.sequences)
    lines += [f"GRANT SELECT ON SEQUENCE {sequence} TO {user};" for sequence in sequences]
    lines += [
        f"REVOKE INSERT, UPDATE, DELETE, TRUNCATE ON {_name(each)} FROM {user};"
        for each in tables
        if each.writable and facts and not facts.is_superuser
    ]
    lines += [statement for each in tables for column in each.worth_an_index for statement in _index(each, column)]
    return "\n".join(lines)


def _index(facts: TableFacts, column: str) -> list[str]:
    if not facts.partitioned:
        return [f"CREATE INDEX CONCURRENTLY ON {_name(facts)} ({identifier(column)});"]
    # PostgreSQL builds none concurrently on a partitioned table.
    return [
        f"-- {_name(facts)} is partitioned: this locks it against writes while the index is built; build one on each partition first,",
        "-- with CREATE INDEX CONCURRENTLY, and it takes those",
        f"CREATE INDEX ON {_name(facts)} ({identifier(column)});",
    ]


def _table(wanted: Wanted, row: Sequence[Any], unindexed: set[tuple[TableId, str]]) -> TableFacts:
    usable, readable, writable, filtered, rows, size, partitioned = row
    return TableFacts(
        wanted=wanted,
        exists=True,
        usable=usable,
        readable=readable,
        writable=writable,
        filtered=filtered,
        unindexed=tuple(column for column in wanted.cursors if (wanted.table, column) in unindexed),
        rows=rows,
        bytes=size,
        partitioned=partitioned,
    )


def _name(facts: TableFacts) -> str:
    table = facts.wanted.table
    return f"{identifier(table.schema)}.{identifier(table.name)}"
