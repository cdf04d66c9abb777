"""PostgreSQL's catalogue: the tables that this user may read."""

from __future__ import annotations

import collections.abc
from dataclasses import replace

from incremental_assets.adapters.databases.postgresql.asked import Asked
from incremental_assets.adapters.databases.postgresql.collation import COLLATIONS, Comparing, words
from incremental_assets.adapters.databases.postgresql.definition import (
    COLUMNS,
    VIEWED,
    facts_of,
    of_column,
    of_sequence,
    shown_by,
)
from incremental_assets.adapters.databases.postgresql.encodings import legible, may_be_other, shown
from incremental_assets.adapters.databases.postgresql.settled.bound import known_zone
from incremental_assets.adapters.databases.postgresql.stamps.catalogue import Written, read_written
from incremental_assets.adapters.databases.postgresql.transaction_number import NUMBERING
from incremental_assets.adapters.databases.postgresql.types import SourceType, spark_type
from incremental_assets.adapters.databases.postgresql.writers import WRITERS
from incremental_assets.core.model.column import Column, Sequence
from incremental_assets.core.model.definition import Fact
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.model.table_shape import Arrival, RoleZone, TableShape

# Row-level security filters nothing where one policy shows every row and none takes some away. Without an expression a restrictive policy takes none
# away, and a permissive one shows none.
_POLICIES = """
policies AS (
    SELECT p.polrelid, p.polpermissive, coalesce(pg_get_expr(p.polqual, p.polrelid) = 'true', NOT p.polpermissive) AS shows_all
    FROM pg_policy AS p
    WHERE p.polcmd IN ('r', '*') AND EXISTS (SELECT FROM unnest(p.polroles) AS r (role) WHERE r.role = 0 OR pg_has_role(r.role, 'USAGE'))
)
"""
_HIDES = """
c.relrowsecurity AND row_security_active(c.oid) AND NOT (
           EXISTS (SELECT FROM policies AS p WHERE p.polrelid = c.oid AND p.polpermissive AND p.shows_all)
           AND NOT EXISTS (SELECT FROM policies AS p WHERE p.polrelid = c.oid AND NOT p.polpermissive AND NOT p.shows_all))
"""
_HIDDEN = f"""
WITH {_POLICIES}
SELECT n.nspname, c.relname FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE c.relrowsecurity AND (n.nspname, c.relname) IN (SELECT w.schema, w.name FROM unnest($1::name[], $2::name[]) AS w (schema, name)) AND {_HIDES}
"""

# Partitions are read through their parent, whose size is theirs. A table whose columns are granted one by one shows no ctid and no xmin.
# Asked of all tables at once: for each of them alone the planner may well read the whole of pg_class.
_TABLES = f"""
WITH RECURSIVE {_POLICIES}, branches (root, relid) AS (
    SELECT c.oid, c.oid FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
    WHERE n.nspname = ANY($1) AND (cardinality($2::name[]) = 0 OR c.relname = ANY($2)) AND c.oid <> ALL($3::oid[])
    UNION SELECT b.root, h.inhrelid FROM branches AS b JOIN pg_inherits AS h ON h.inhparent = b.relid
), kinds AS (
    SELECT b.root, bool_or(k.relkind = 'f') AS is_foreign, bool_or(k.relpersistence = 'u') AS is_unlogged,
           bool_or(k.oid IN (SELECT u.srrelid FROM pg_subscription_rel AS u)) AS is_subscribed,
           coalesce(array_agg(k.oid || ' ' || k.relfilenode ORDER BY k.oid) FILTER (WHERE k.relkind = 'r' AND k.relfilenode <> k.oid), '{{}}') AS files
    FROM branches AS b JOIN pg_class AS k ON k.oid = b.relid GROUP BY b.root
), {VIEWED}
SELECT c.oid, n.nspname, c.relname, {legible("coalesce(obj_description(c.oid, 'pg_class'), '')")}, s.rows, s.bytes, s.updates,
       c.relkind IN ('r', 'm') AND g.granted,
       CASE WHEN c.relkind IN ('r', 'm') THEN coalesce(pg_relation_size(c.oid) / current_setting('block_size')::bigint, 0) ELSE 0 END,
       g.granted AND (c.relkind IN ('r', 'm') OR c.relkind = 'p' AND NOT b.is_foreign),
       {_HIDES},
       array_remove(ARRAY[CASE c.relkind WHEN 'v' THEN 'view' WHEN 'm' THEN 'materialized' END,
                          CASE WHEN b.is_foreign THEN 'foreign' END, CASE WHEN b.is_subscribed THEN 'subscription' END], NULL),
       NOT b.is_unlogged, b.files, v.made_of
FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
CROSS JOIN LATERAL (SELECT has_table_privilege(c.oid, 'SELECT') AS granted) AS g
CROSS JOIN LATERAL (
    SELECT coalesce(sum(greatest(k.reltuples, 0)), 0)::bigint AS rows, coalesce(sum(pg_table_size(k.oid)), 0)::bigint AS bytes,
           sum(pg_stat_get_tuples_updated(k.oid))::bigint AS updates
    FROM branches AS f JOIN pg_class AS k ON k.oid = f.relid WHERE f.root = c.oid AND k.relkind <> 'p' AND (c.relkind = 'p' OR k.oid = c.oid)
) AS s
JOIN kinds AS b ON b.root = c.oid LEFT JOIN viewed AS v ON v.root = c.oid
WHERE n.nspname = ANY($1) AND (cardinality($2::name[]) = 0 OR c.relname = ANY($2)) AND c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition
  AND (g.granted OR has_any_column_privilege(c.oid, 'SELECT')) AND has_schema_privilege(n.oid, 'USAGE')
ORDER BY n.nspname, c.relname
"""

# What a default is but the next number of one sequence proves nothing, nor does a partition that draws from a sequence of its own.
_SEQUENCES = f"""
WITH RECURSIVE branches (root, relid) AS (
    SELECT o, o FROM unnest($1::oid[]) AS o
    UNION SELECT b.root, h.inhrelid FROM branches AS b JOIN pg_inherits AS h ON h.inhparent = b.relid
), sources AS (
    SELECT b.root, a.attname, d.refobjid AS sequence, pg_get_expr(e.adbin, e.adrelid) ~ $2 AS is_plain, false AS always
    FROM branches AS b JOIN pg_attribute AS a ON a.attrelid = b.relid JOIN pg_attrdef AS e ON e.adrelid = a.attrelid AND e.adnum = a.attnum
    LEFT JOIN pg_depend AS d ON d.classid = 'pg_attrdef'::regclass AND d.objid = e.oid AND d.refclassid = 'pg_class'::regclass
         AND d.refobjid IN (SELECT q.seqrelid FROM pg_sequence AS q)
    WHERE a.attgenerated = ''
    UNION ALL
    SELECT b.root, a.attname, d.objid, true, a.attidentity = 'a'
    FROM branches AS b JOIN pg_attribute AS a ON a.attrelid = b.relid
    JOIN pg_depend AS d ON d.classid = 'pg_class'::regclass AND d.refclassid = 'pg_class'::regclass AND d.deptype = 'i'
         AND d.refobjid = a.attrelid AND d.refobjsubid = a.attnum AND d.objid IN (SELECT q.seqrelid FROM pg_sequence AS q)
    WHERE a.attidentity <> ''
)
SELECT f.root, f.attname, {legible("format('%I.%I', n.nspname, c.relname)")}, q.seqincrement, q.seqcache, q.seqcycle, c.relpersistence <> 'u', f.always,
       has_sequence_privilege(q.seqrelid, 'SELECT, USAGE'), CASE WHEN has_sequence_privilege(q.seqrelid, 'SELECT, USAGE') THEN pg_sequence_last_value(q.seqrelid) END, c.oid || ' ' || c.relfilenode, c.relfilenode <> c.oid
FROM (SELECT root, attname, min(sequence) AS sequence, bool_and(always) AS always FROM sources GROUP BY root, attname
      HAVING bool_and(is_plain) AND count(DISTINCT sequence) = 1 AND count(sequence) = count(*)) AS f
JOIN pg_sequence AS q ON q.seqrelid = f.sequence JOIN pg_class AS c ON c.oid = f.sequence JOIN pg_namespace AS n ON n.oid = c.relnamespace
"""
_NEXT_NUMBER = r"^nextval\('([^']|'')+'::regclass\)$"

# One role for each zone. Of a role's own settings that for the database counts more than that for all of them.
_ZONES = f"""
WITH RECURSIVE settings AS (
    SELECT DISTINCT ON (d.setrole) d.setrole, split_part(c, '=', 2) AS zone
    FROM pg_db_role_setting AS d CROSS JOIN unnest(d.setconfig) AS c
    WHERE d.setrole <> 0 AND lower(split_part(c, '=', 1)) = 'timezone'
      AND d.setdatabase IN (0, (SELECT oid FROM pg_database WHERE datname = current_database()))
    ORDER BY d.setrole, d.setdatabase DESC
), {WRITERS}
SELECT w.root, {shown("min(r.rolname)")}, s.zone FROM writers AS w JOIN settings AS s ON s.setrole = w.setrole JOIN pg_roles AS r ON r.oid = s.setrole
GROUP BY w.root, s.zone
ORDER BY min(r.rolname)
"""

# Of unique keys those that hold for every row at every moment; a primary key may be deferred, as a snapshot shows committed rows only.
# A table that others inherit from shows their rows too, which its own keys know nothing of; of partitions the parent's keys do.
_KEYS = f"""
WITH {COLLATIONS}
SELECT i.indrelid, i.indisprimary, array_agg(a.attname ORDER BY k.place), array_agg(coalesce(l.name, '') ORDER BY k.place),
       EXISTS (SELECT FROM pg_inherits AS h JOIN pg_class AS p ON p.oid = h.inhparent WHERE p.oid = i.indrelid AND p.relkind <> 'p')
FROM pg_index AS i CROSS JOIN LATERAL unnest(i.indkey::int2[], i.indcollation::oid[]) WITH ORDINALITY AS k (number, compared, place)
LEFT JOIN pg_attribute AS a ON a.attrelid = i.indrelid AND a.attnum = k.number LEFT JOIN collations AS l ON l.oid = k.compared
WHERE i.indrelid = ANY($1::oid[]) AND i.indisunique AND i.indisvalid AND (i.indimmediate OR i.indisprimary)
  AND i.indpred IS NULL AND i.indexprs IS NULL AND k.place <= i.indnkeyatts
GROUP BY i.indexrelid, i.indrelid, i.indisprimary
ORDER BY i.indrelid, i.indisprimary DESC, i.indexrelid
"""


def read_catalogue(
    asked: Asked,
    source: str,
    schemas: collections.abc.Sequence[str],
    names: collections.abc.Sequence[str] = (),
    without: collections.abc.Collection[int] = (),
) -> tuple[TableShape, ...]:
    """Every table, view, materialized view and foreign table of the schemas that this user may read, by name; or only those of some names. `without`: but for these, by oid."""
    tables = asked.execute(_TABLES, (list(schemas), list(names), list(without))).fetchall()
    oids = [table[0] for table in tables]
    sequences: dict[tuple[int, str], Sequence] = {}
    facts: dict[int, list[Fact]] = {oid: [] for oid in oids}
    for oid, column, *of, seen, last, file, is_another in asked.execute(_SEQUENCES, (oids, _NEXT_NUMBER)).fetchall():
        sequences[oid, column] = replace(Sequence(*of), last=last, seen=seen)
        facts[oid] += [of_sequence(column, file)] if is_another else []
    zones: dict[int, list[RoleZone]] = {oid: [] for oid in oids}
    for oid, role, zone in asked.execute(_ZONES, (oids,)).fetchall():
        zones[oid].append(RoleZone(f"the role {role}", known_zone(zone)))
    columns: dict[int, list[Column]] = {oid: [] for oid in oids}
    comparing: dict[tuple[int, str], Comparing] = {}
    for (
        oid,
        name,
        text,
        kind,
        type_name,
        nullable,
        comment,
        identity,
        shows,
        encoding,
        *compares,
        looked_up,
    ) in asked.execute(COLUMNS, (oids,)).fetchall():
        facts[oid].append(of_column(name, shows))
        spark, fidelity = spark_type(SourceType(text, kind, type_name))
        other = encoding if spark == "string" and may_be_other(encoding, text) else ""
        sequence = sequences.get((oid, name))
        comparing[oid, name] = Comparing(text, kind, type_name, *compares)
        column = Column(
            name, text, spark, fidelity, nullable, comment, identity, sequence, other, shown_by=shown_by(looked_up)
        )
        columns[oid].append(_compared(column, comparing[oid, name]))
    written = read_written(asked, columns)
    columns = {oid: [_written(column, oid, written) for column in found] for oid, found in columns.items()}
    primary: dict[int, tuple[str, ...]] = {}
    unique: dict[int, list[tuple[str, ...]]] = {oid: [] for oid in oids}
    inherited: dict[int, tuple[str, ...]] = {}
    indexed: dict[int, list[tuple[Column, ...]]] = {oid: [] for oid in oids}
    for oid, is_primary, key, collations, has_children in asked.execute(_KEYS, (oids,)).fetchall():
        filled = {column.name for column in columns[oid] if not column.nullable}
        if not filled.issuperset(key):
            # NULLs are not equal to each other, and a column that may not be read is no use in a key.
            continue
        by_name = {column.name: column for column in columns[oid]}
        by_index = tuple(
            _compared(by_name[name], replace(comparing[oid, name], collation=collation))
            for name, collation in zip(key, collations, strict=True)
        )
        if not set(columns[oid]).issuperset(by_index):
            indexed[oid].append(by_index)
        if has_children:
            inherited |= {oid: tuple(key)} if is_primary else {}
        elif is_primary:
            primary[oid] = tuple(key)
        else:
            unique[oid].append(tuple(key))
    return tuple(
        TableShape(
            id=TableId(source, schema, name),
            columns=tuple(columns[oid]),
            primary_key=primary.get(oid, ()),
            unique_keys=tuple(unique[oid]),
            indexed_keys=tuple(indexed[oid]),
            own_key=inherited.get(oid, ()),
            comment=comment,
            rows=rows,
            bytes=size,
            updates=updates,
            splits=splits,
            pages=pages,
            row_versions=row_versions,
            filtered=filtered,
            arrivals=tuple(Arrival(arrival) for arrival in arrivals),
            zones=tuple(zones[oid]),
            logged=logged,
            numbering=NUMBERING if row_versions and Arrival.FOREIGN not in arrivals else None,
            facts=(*facts_of(oid, files, viewed), *facts[oid]),
        )
        for oid, schema, name, comment, rows, size, updates, splits, pages, row_versions, filtered, arrivals, logged, files, viewed in tables
    )


def _written(column: Column, table: int, by: Written) -> Column:
    """With what of the database writes it."""
    trigger = by.renumbering.get((table, column.name), "")
    sequence = column.sequence and replace(column.sequence, trigger=trigger)
    return replace(column, stamps=by.stampings.get((table, column.name)), sequence=sequence)


def _compared(column: Column, of: Comparing) -> Column:
    collation, no_key = words(of)
    return replace(column, collation=collation, no_key=no_key)


def hidden(asked: Asked, tables: collections.abc.Sequence[TableId]) -> set[tuple[str, str]]:
    """Schema and name of those of the tables that do not show this user every row."""
    return set(asked.execute(_HIDDEN, ([each.schema for each in tables], [each.name for each in tables])).fetchall())
