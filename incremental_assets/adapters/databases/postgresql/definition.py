"""What PostgreSQL's catalogue says of how the rows of a table are stored and shown: its numbers of tables, files, columns and types, expressions and labels."""

from __future__ import annotations

from collections.abc import Sequence

from incremental_assets.adapters.databases.postgresql.collation import COLLATIONS, HASHES
from incremental_assets.adapters.databases.postgresql.encodings import legible, shown
from incremental_assets.core.model.definition import COLUMN, Fact

# A view, the views that it is made of, and the functions that these call. Of what a function with a body of text calls, the catalogue says nothing.
VIEWED = """
view_parts (root, part, is_function) AS (
    SELECT c.oid, c.oid, false FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
    WHERE n.nspname = ANY($1) AND (cardinality($2::name[]) = 0 OR c.relname = ANY($2)) AND c.relkind IN ('v', 'm')
    UNION
    SELECT p.root, d.refobjid, d.refclassid = 'pg_proc'::regclass
    FROM view_parts AS p CROSS JOIN LATERAL (
        SELECT 'pg_rewrite'::regclass AS class, w.oid FROM pg_rewrite AS w WHERE w.ev_class = p.part AND NOT p.is_function
        UNION ALL SELECT 'pg_proc'::regclass, p.part WHERE p.is_function
    ) AS o JOIN pg_depend AS d ON d.classid = o.class AND d.objid = o.oid AND d.refclassid IN ('pg_class'::regclass, 'pg_proc'::regclass)
), viewed AS (
    SELECT p.root, array_agg(x.digest ORDER BY x.digest) AS made_of
    FROM view_parts AS p CROSS JOIN LATERAL (
        SELECT md5(w.ev_action::text) AS digest FROM pg_rewrite AS w WHERE w.ev_class = p.part AND NOT p.is_function
        UNION ALL SELECT md5(f.prosrc || coalesce(f.prosqlbody::text, '') || coalesce(f.proconfig::text, ''))
        FROM pg_proc AS f WHERE f.oid = p.part AND p.is_function
    ) AS x GROUP BY p.root
)
"""

# What a column shows besides what is stored: the expression of one that is generated when it is read, the labels of an enum in the order in which they came,
# the parts of a composite type. A length or a precision alters no value unless the table is rewritten; types of texts are one kind.
# A domain stands for its base type, however many domains lie between; its own NOT NULL is left out, as PostgreSQL lets a NULL slip past it.
# Since PostgreSQL 18 a NOT NULL may not be valid yet, and then it proves nothing; nor does one that children need not keep, or that nobody enforces
# on the other server of a foreign table.
# A type whose output function is not IMMUTABLE shows what the catalogue or a setting says when it is read (regclass, aclitem, money, others' types); those of
# times depend on settings that each transaction of ours sets, and arrays, ranges and composite types on what they are made of.
COLUMNS = f"""
WITH RECURSIVE {COLLATIONS}, {HASHES}, bases AS (
    SELECT t.oid AS domain, t.typbasetype AS type, t.typtypmod AS typmod FROM pg_type AS t WHERE t.typtype = 'd'
    UNION ALL
    SELECT b.domain, t.typbasetype, CASE WHEN b.typmod = -1 THEN t.typtypmod ELSE b.typmod END
    FROM bases AS b JOIN pg_type AS t ON t.oid = b.type WHERE t.typtype = 'd'
), resolved AS (
    SELECT b.* FROM bases AS b JOIN pg_type AS t ON t.oid = b.type WHERE t.typtype <> 'd'
), branches (root, relid) AS (
    SELECT o, o FROM unnest($1::oid[]) AS o
    UNION SELECT b.root, h.inhrelid FROM branches AS b JOIN pg_inherits AS h ON h.inhparent = b.relid
), nullable AS (
    SELECT DISTINCT b.root, k.attname
    FROM branches AS b JOIN pg_class AS c ON c.oid = b.relid JOIN pg_attribute AS k ON k.attrelid = b.relid
    WHERE k.attnum > 0 AND NOT k.attisdropped AND (NOT k.attnotnull OR c.relkind = 'f' OR EXISTS (
        SELECT FROM pg_constraint AS x WHERE x.conrelid = b.relid AND x.contype = 'n' AND NOT x.convalidated AND k.attnum = ANY(x.conkey)))
), computed AS (
    SELECT b.root, k.attname, string_agg(DISTINCT md5(e.adbin::text), ' ') AS digest
    FROM branches AS b JOIN pg_attribute AS k ON k.attrelid = b.relid JOIN pg_attrdef AS e ON e.adrelid = k.attrelid AND e.adnum = k.attnum
    WHERE k.attgenerated = 'v' GROUP BY b.root, k.attname
), types (root, type) AS (
    SELECT DISTINCT t.oid, t.oid FROM pg_attribute AS a LEFT JOIN resolved AS r ON r.domain = a.atttypid JOIN pg_type AS t ON t.oid = coalesce(r.type, a.atttypid)
    WHERE a.attrelid = ANY($1::oid[]) AND a.attnum > 0
    UNION
    SELECT s.root, p.type FROM types AS s JOIN pg_type AS t ON t.oid = s.type
    CROSS JOIN LATERAL (SELECT t.typelem UNION SELECT t.typbasetype UNION SELECT x.atttypid FROM pg_attribute AS x WHERE x.attrelid = t.typrelid AND x.attnum > 0
                        UNION SELECT g.rngsubtype FROM pg_range AS g WHERE t.oid IN (g.rngtypid, g.rngmultitypid)) AS p (type)
    WHERE p.type <> 0
), labels AS (
    SELECT s.root, array_agg({legible("l.enumlabel::text")} ORDER BY s.type, l.oid) AS labels
    FROM types AS s JOIN pg_enum AS l ON l.enumtypid = s.type GROUP BY s.root
), parts AS (
    SELECT s.root, string_agg(concat_ws(' ', x.attrelid, x.attnum, x.atttypid, x.attisdropped), ',' ORDER BY x.attrelid, x.attnum) AS parts
    FROM types AS s JOIN pg_type AS t ON t.oid = s.type JOIN pg_attribute AS x ON x.attrelid = t.typrelid WHERE x.attnum > 0 AND t.oid >= 16384 GROUP BY s.root
), looked_up AS (
    SELECT s.root, string_agg({shown("t.typname")}, ', ' ORDER BY t.oid) AS names
    FROM types AS s JOIN pg_type AS t ON t.oid = s.type JOIN pg_proc AS o ON o.oid = t.typoutput
    WHERE t.typtype = 'b' AND o.provolatile <> 'i' AND o.oid <> ALL(ARRAY['array_out', 'date_out', 'interval_out', 'timestamp_out', 'timestamptz_out']::regproc[])
    GROUP BY s.root
)
SELECT a.attrelid, a.attname, {legible("format_type(t.oid, coalesce(r.typmod, a.atttypmod))")}, t.typtype::text, {shown("t.typname")}, n.attname IS NOT NULL,
       {legible("coalesce(col_description(a.attrelid, a.attnum), '')")}, a.attrelid || '.' || a.attnum,
       ARRAY[a.attnum::text, CASE t.typcategory WHEN 'S' THEN 'S' ELSE t.oid::text END, coalesce(e.digest, ''), coalesce(p.parts, '')] || coalesce(l.labels, '{{}}'), getdatabaseencoding(),
       coalesce(o.name, ''), CASE WHEN m.oid IS NOT NULL THEN format_type(m.oid, NULL) ELSE '' END, coalesce(m.oid, g.rngsubtype, t.oid) IN (SELECT type FROM hashes), coalesce(u.names, '')
FROM pg_attribute AS a LEFT JOIN resolved AS r ON r.domain = a.atttypid JOIN pg_type AS t ON t.oid = coalesce(r.type, a.atttypid)
LEFT JOIN collations AS o ON o.oid = a.attcollation LEFT JOIN pg_type AS m ON m.oid = t.typelem AND t.typcategory = 'A'
LEFT JOIN pg_range AS g ON t.oid IN (g.rngtypid, g.rngmultitypid)
LEFT JOIN computed AS e ON e.root = a.attrelid AND e.attname = a.attname
LEFT JOIN labels AS l ON l.root = t.oid LEFT JOIN parts AS p ON p.root = t.oid LEFT JOIN looked_up AS u ON u.root = t.oid
LEFT JOIN nullable AS n ON n.root = a.attrelid AND n.attname = a.attname
WHERE a.attrelid = ANY($1::oid[]) AND a.attnum > 0 AND NOT a.attisdropped AND has_column_privilege(a.attrelid, a.attnum, 'SELECT')
ORDER BY a.attrelid, a.attnum
"""


def facts_of(table: int, files: Sequence[str], made_of: Sequence[str] | None) -> tuple[Fact, ...]:
    """Of the table itself, and of each file that is not its first one; of a view of what it is made of."""
    return (
        Fact("table", (str(table),), "another one has its name: it was made anew, or exchanged"),
        *(
            Fact(f"file {file.split()[0]}", (file.split()[1],), "it, or a part of it, was rewritten or emptied")
            for file in files
        ),
        *([Fact("view", (*made_of, ""), "the view, or what it is made of, is defined anew")] if made_of else []),
    )


def of_sequence(column: str, file: str) -> Fact:
    """Of a sequence whose file is not its first one: `RESTART` writes it anew."""
    return Fact(
        f"sequence {file.split(maxsplit=1)[0]}", (file.split()[1],), f"the numbers of {column!r} may have begun again"
    )


def of_column(name: str, shows: Sequence[str]) -> Fact:
    """By the number of the column, which a new name leaves as it is."""
    return Fact(f"{COLUMN}{shows[0]}", tuple(shows), f"what {name!r} shows is defined anew")


def shown_by(types: str) -> str:
    """What decides the text of a value beside the row, of a column whose type is or holds one of these; empty of none."""
    return f"a value of the type {types} is written as the catalogue or a setting says when it is read" if types else ""
