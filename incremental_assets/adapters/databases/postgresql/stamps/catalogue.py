"""The defaults and triggers of PostgreSQL's catalogue that write a column of times, in the table and in every partition or child of it."""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from incremental_assets.adapters.databases.postgresql.asked import Asked
from incremental_assets.adapters.databases.postgresql.encodings import is_legible, legible, shown
from incremental_assets.adapters.databases.postgresql.stamps.beside import BESIDE, NOT_READ, Beside, or_else
from incremental_assets.adapters.databases.postgresql.stamps.expression import Columns, no_columns
from incremental_assets.adapters.databases.postgresql.stamps.written import (
    INSERT,
    UPDATE,
    Default,
    Trigger,
    at_insert,
    at_update,
)
from incremental_assets.adapters.databases.postgresql.writers import WRITERS
from incremental_assets.adapters.databases.stamps.brought import but_for, zone_of
from incremental_assets.adapters.databases.stamps.proof import Found, all_of
from incremental_assets.adapters.databases.stamps.reading import TIMES, Reading, grain_of
from incremental_assets.adapters.databases.stamps.steps import KEPT
from incremental_assets.adapters.databases.stamps.tokens import NotRead, NotStamped
from incremental_assets.core.model.column import Column
from incremental_assets.core.model.stamping import Cut, Stamping

# A domain gives its default to columns that have none of their own. What a default is known by counts for the table itself, and for a part where it was made after
# the part had come: each part that comes or goes would else be an alteration.
_DEFAULTS = f"""
WITH RECURSIVE branches (root, relid) AS (
    SELECT o, o FROM unnest($1::oid[]) AS o
    UNION SELECT b.root, h.inhrelid FROM branches AS b JOIN pg_inherits AS h ON h.inhparent = b.relid
)
SELECT b.root, b.relid, c.relkind = 'r', c.relispartition, d.*
FROM branches AS b JOIN pg_class AS c ON c.oid = b.relid AND c.relkind IN ('r', 'p') LEFT JOIN LATERAL (
    SELECT a.attname, {legible("coalesce(pg_get_expr(e.adbin, e.adrelid), pg_get_expr(t.typdefaultbin, 0))")}, a.attgenerated <> '', CASE
               WHEN b.relid <> b.root AND NOT EXISTS (SELECT FROM pg_inherits AS h WHERE h.inhrelid = b.relid AND age(h.xmin) > age(e.xmin)) THEN ''
               ELSE coalesce(e.oid::text, t.oid || ':' || t.xmin) END
    FROM pg_attribute AS a JOIN pg_type AS t ON t.oid = a.atttypid AND t.typcategory = 'D'
    LEFT JOIN pg_attrdef AS e ON e.adrelid = a.attrelid AND e.adnum = a.attnum
    WHERE a.attrelid = b.relid AND a.attnum > 0 AND NOT a.attisdropped AND {is_legible("a.attname")} AND (e.oid IS NOT NULL OR t.typdefaultbin IS NOT NULL)
) AS d ON true
"""

_EXACT = (
    "bool, int2, int4, int8, oid, text, varchar, name, bytea, bit, varbit, uuid, date, time, timetz, timestamp, timestamptz, "
    "inet, cidr, macaddr, macaddr8, money, pg_lsn, xid8, char"
)
"""Types of which each value is equal to itself alone. Of a number with a fixed scale, of a text with a fixed length and of an enum that holds as well."""
# The first column that is of no such type, however deep in domains and arrays; -0 is equal to 0, and 1 day to 24 hours.
_ALIKE = f"""
SELECT {shown("a.attname")} FROM pg_attribute AS a, LATERAL (
    WITH RECURSIVE made (of, digits, depth) AS (
        SELECT a.atttypid, a.atttypmod, 0
        UNION ALL SELECT CASE WHEN y.typtype = 'd' THEN y.typbasetype ELSE y.typelem END, CASE WHEN m.digits < 0 THEN y.typtypmod ELSE m.digits END, m.depth + 1
        FROM made AS m JOIN pg_type AS y ON y.oid = m.of WHERE y.typtype = 'd' OR y.typcategory = 'A' AND y.typelem <> 0
    )
    SELECT y.*, m.digits FROM made AS m JOIN pg_type AS y ON y.oid = m.of ORDER BY m.depth DESC LIMIT 1
) AS v
WHERE a.attrelid = b.root AND a.attnum > 0 AND NOT a.attisdropped AND NOT (
    (v.typtype = 'e' OR v.typnamespace = 'pg_catalog'::regnamespace AND (v.typname = ANY (string_to_array('{_EXACT}', ', ')) OR v.typname IN ('numeric', 'bpchar') AND v.digits >= 0))
    AND NOT EXISTS (SELECT FROM pg_collation AS l WHERE l.oid = a.attcollation AND NOT l.collisdeterministic)
) ORDER BY a.attnum LIMIT 1
"""

# Those that run before each row. A trigger of a partitioned table is there in each of its partitions, where it may be switched off alone: one that came with its
# part, or with that of the table above, was not.
_TRIGGERS = f"""
WITH RECURSIVE branches (root, relid) AS (
    SELECT o, o FROM unnest($1::oid[]) AS o
    UNION SELECT b.root, h.inhrelid FROM branches AS b JOIN pg_inherits AS h ON h.inhparent = b.relid
)
SELECT b.root, b.relid, t.oid || ':' || t.xmin || ':' || p.xmin,
       b.relid = b.root OR NOT EXISTS (SELECT FROM pg_inherits AS h WHERE h.inhrelid = b.relid AND h.xmin = t.xmin)
                           AND NOT EXISTS (SELECT FROM pg_trigger AS o WHERE o.oid = t.tgparentid AND o.xmin = t.xmin), {shown("t.tgname")}, t.tgenabled::text, t.tgtype::int & 4 <> 0, t.tgtype::int & 16 <> 0,
       cardinality(t.tgattr::int2[]) > 0, CASE WHEN t.tgqual IS NOT NULL THEN {legible("pg_get_triggerdef(t.oid)")} END, {shown("p.proname")}, l.lanname, {or_else("p.prosrc", NOT_READ)},
       string_to_array(encode(t.tgargs, 'escape'), '\\000'), {or_else("coalesce(array_to_string(p.proconfig, ' '), '')", "timezone")}, coalesce(({_ALIKE}), '')
FROM branches AS b JOIN pg_trigger AS t ON t.tgrelid = b.relid JOIN pg_proc AS p ON p.oid = t.tgfoid JOIN pg_language AS l ON l.oid = p.prolang
WHERE NOT t.tgisinternal AND t.tgtype::int & 3 = 3
ORDER BY t.tgname
"""

# Whose sessions begin as those of a replica, in which ordinary triggers do not run.
_REPLICATING = f"""
WITH RECURSIVE settings AS (
    SELECT DISTINCT d.setrole FROM pg_db_role_setting AS d CROSS JOIN unnest(d.setconfig) AS c
    WHERE lower(c) = 'session_replication_role=replica' AND d.setdatabase IN (0, (SELECT oid FROM pg_database WHERE datname = current_database()))
), {WRITERS}
SELECT w.root, {shown("min(r.rolname)")} FROM writers AS w JOIN pg_roles AS r ON r.oid = w.setrole GROUP BY w.root
UNION ALL
SELECT o, 'every role' FROM unnest($1::oid[]) AS o
WHERE EXISTS (SELECT FROM settings WHERE setrole = 0) OR EXISTS (SELECT FROM pg_settings AS s WHERE s.name = 'session_replication_role' AND s.source = 'configuration file' AND s.reset_val = 'replica')
"""
_DIGITS = re.compile(r"timestamp\((\d)\)")

_Write = Callable[[str, Default | None, Sequence[Trigger], Columns], Found]


@dataclass(slots=True)
class _Part:
    """The table itself, a partition or a child, as far as it writes columns of times."""

    holds_rows: bool
    is_partition: bool
    defaults: dict[str, Default] = field(default_factory=dict)
    triggers: list[Trigger] = field(default_factory=list)
    marks: dict[str, str] = field(default_factory=dict)
    """What the catalogue knows each default by: another text once it was altered."""


_Parts = Mapping[int, _Part]


@dataclass(frozen=True, slots=True)
class Written:
    """What the database itself writes into the columns of tables, by the table's number and the column's name."""

    stampings: Mapping[tuple[int, str], Stamping]
    """Of each column of times what stamps it."""
    renumbering: Mapping[tuple[int, str], str]
    """Of a column that draws its numbers the trigger that may give a row another one."""


def read_written(asked: Asked, columns: Mapping[int, Sequence[Column]]) -> Written:
    """Of the columns of some tables."""
    timed = {oid: [each for each in found if each.spark_type in TIMES] for oid, found in columns.items()}
    drawn = {oid: [each.name for each in found if each.sequence] for oid, found in columns.items()}
    oids = [oid for oid in columns if timed[oid] or drawn[oid]]
    nullable = {oid: frozenset(each.name for each in columns[oid] if each.nullable) for oid in oids}
    tables = _tables(asked, nullable) if oids else {}
    beside = Beside.of(
        asked.execute(BESIDE, ([oid for oid in oids if timed[oid]],)).fetchall() if any(timed.values()) else ()
    )
    return Written(
        {
            (oid, column.name): _stamping(column, oid, tables[oid], timed[oid], beside)
            for oid in tables
            for column in timed[oid]
        },
        {(oid, name): trigger for oid in tables for name in drawn[oid] if (trigger := _renumbering(name, tables[oid]))},
    )


def _renumbering(name: str, parts: _Parts) -> str:
    triggers = (trigger for part in parts.values() for trigger in part.triggers)
    return next((each.name for each in triggers if each.renumbers(name)), "")


def _tables(asked: Asked, nullable: Mapping[int, frozenset[str]]) -> dict[int, dict[int, _Part]]:
    """The parts of each table, itself among them; `nullable`: the columns of each that may be NULL."""
    oids = list(nullable)
    tables: dict[int, dict[int, _Part]] = defaultdict(dict)
    for root, relid, holds_rows, is_partition, name, text, is_generated, mark in asked.execute(
        _DEFAULTS, (oids,)
    ).fetchall():
        part = tables[root].setdefault(relid, _Part(holds_rows, is_partition and relid != root))
        if name is not None:
            part.defaults[name] = Default(text, is_generated)
            part.marks[name] = mark
    found = asked.execute(_TRIGGERS, (oids,)).fetchall()
    replicating: dict[int, str] = dict(asked.execute(_REPLICATING, (oids,)).fetchall()) if found else {}
    for root, relid, *known in found:
        if relid in tables[root]:
            part = tables[root][relid]
            trigger = replace(Trigger(*known), replicating=replicating.get(root, ""), nullable=nullable[root])
            part.triggers.append(trigger)
    return tables


def _stamping(column: Column, root: int, parts: _Parts, timed: Sequence[Column], beside: Beside) -> Stamping:
    as_moment, name = _is_moment(column), column.name
    written = [each for each in parts.values() if each.holds_rows] or [parts[root]]
    inserts = (
        _found(at_insert, column, part, default, timed)
        for part in written
        for default in _defaults(name, root, parts, part)
    )
    updates = (_found(at_update, column, part, part.defaults.get(name), timed) for part in written)
    insert, update = (all_of(each.proves(name, as_moment=as_moment) for each in found) for found in (inserts, updates))
    why = beside.brings(root, name, zone_of(insert, update))
    # Of a part only those that were altered there, as each part that comes or goes would else be an alteration.
    altered = (each for part in parts.values() for each in part.triggers if each.is_of_its_own)
    writers = sorted(
        each.mark for each in altered if any(each.leaves(name, event) != KEPT for event in (INSERT, UPDATE))
    )
    defaults = sorted(mark for part in parts.values() if (mark := part.marks.get(name)))
    marks = (*writers, *defaults)
    return Stamping(
        insert=but_for(insert, why),
        update=but_for(update, why),
        grain=_grain(column),
        marks=hashlib.sha256(repr(marks).encode()).hexdigest()[:16] if marks else "",
    )


def _defaults(name: str, root: int, parts: _Parts, part: _Part) -> Iterator[Default | None]:
    """Those that a row of a part may get: through the tables above it their own, and where it is written into the part itself that of the part."""
    if part.is_partition:
        above = [(relid, each) for relid, each in parts.items() if not each.holds_rows]
        yield from (each.defaults.get(name) for relid, each in above if relid == root or name in each.defaults)
    if not part.is_partition or name in part.defaults:
        yield part.defaults.get(name)


def _found(write: _Write, column: Column, part: _Part, default: Default | None, timed: Sequence[Column]) -> Found:
    def held(name: str) -> Reading:
        """What another column of the same row holds, of one that is generated from it."""
        other = next((each for each in timed if each.name == name), None)
        if other is None:
            raise NotRead
        found = write(name, part.defaults.get(name), part.triggers, no_columns).outcome
        if found == KEPT:
            raise NotStamped
        stamp = found.stored(as_moment=_is_moment(other)) if isinstance(found, Reading) else None
        if stamp is None:
            raise NotRead
        return Reading(_is_moment(other), stamp.zone, (*stamp.cuts, *_grain(other)))

    return write(column.name, default, part.triggers, held)


def _is_moment(column: Column) -> bool:
    return column.spark_type == "timestamp"


def _grain(column: Column) -> tuple[Cut, ...]:
    digits = _DIGITS.search(column.source_type)
    return grain_of(int(digits[1]) if digits else None)
