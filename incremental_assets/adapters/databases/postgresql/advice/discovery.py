"""What PostgreSQL tells of columns that may be cursors: its catalogue and statistics, and of each table the blocks that were written last."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import psycopg

from incremental_assets.adapters.databases.postgresql.asked import Asked
from incremental_assets.adapters.databases.postgresql.batch import light, one_row, raise_if_lost
from incremental_assets.adapters.databases.postgresql.encodings import is_legible, legible
from incremental_assets.adapters.databases.postgresql.fragments import BEGINS_WITH, GIVES_NEXT, last_rows
from incremental_assets.adapters.databases.postgresql.sql import column, relation
from incremental_assets.core.discovery.traits import ColumnTraits, Inserts, Sample, TableTraits, cursor_columns
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.model.table_shape import TableShape

_SCHEMAS = f"""
SELECT n.nspname FROM pg_namespace AS n
WHERE {is_legible("n.nspname")} AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
  AND EXISTS (SELECT FROM pg_class AS c WHERE c.relnamespace = n.oid AND c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition)
ORDER BY n.nspname
"""

_TABLES = "unnest($1::text[], $2::text[]) AS w (schema, name) JOIN pg_namespace AS n ON n.nspname = w.schema JOIN pg_class AS c ON c.relnamespace = n.oid AND c.relname = w.name"

# Of a table with children the statistics of them all are those that count.
_COLUMNS = f"""
SELECT w.schema, w.name, a.attname,
       CASE WHEN c.relkind IN ('r', 'p', 'm') THEN EXISTS (
           SELECT FROM pg_index AS i WHERE i.indrelid = c.oid AND {BEGINS_WITH}) END,
       a.attidentity <> '' OR coalesce({GIVES_NEXT}, false),
       s.null_frac
FROM {_TABLES} JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
LEFT JOIN pg_attrdef AS e ON e.adrelid = c.oid AND e.adnum = a.attnum AND a.attgenerated = ''
LEFT JOIN LATERAL (
    SELECT v.null_frac FROM pg_stats AS v WHERE v.schemaname = w.schema AND v.tablename = w.name AND v.attname = a.attname
    ORDER BY v.inherited DESC LIMIT 1) AS s ON true
"""

_TRIGGERS = f"""
SELECT w.schema, w.name, {legible("p.prosrc")}, string_to_array(encode(t.tgargs, 'escape'), '\\000'), t.tgtype::int & 4 <> 0, t.tgtype::int & 16 <> 0
FROM {_TABLES} JOIN pg_trigger AS t ON t.tgrelid = c.oid JOIN pg_proc AS p ON p.oid = t.tgfoid
WHERE NOT t.tgisinternal AND t.tgenabled <> 'D' AND t.tgtype::int & 3 = 3
"""

_COUNTS = f"""
SELECT w.schema, w.name, sum(pg_stat_get_tuples_inserted(k.oid))::bigint, sum(pg_stat_get_tuples_updated(k.oid))::bigint,
       sum(pg_stat_get_tuples_deleted(k.oid))::bigint
FROM {_TABLES} JOIN pg_class AS k ON k.oid = c.oid OR c.relkind = 'p' AND k.oid IN (SELECT p.relid FROM pg_partition_tree(c.oid) AS p WHERE p.isleaf)
WHERE c.relkind IN ('r', 'p') GROUP BY w.schema, w.name
"""

# A row that was written by itself has a transaction to itself in its block. A restore writes thousands in one; or one after the other, and all numbers in a row are theirs.
_INSERTS = """
WITH blocks AS (
    SELECT count(*) AS rows, count(DISTINCT t.xmin::text) AS transactions, 1 + max(age(t.xmin)) - min(age(t.xmin)) AS numbers
    FROM {} TABLESAMPLE SYSTEM ({}) REPEATABLE (0) GROUP BY t.tableoid, (t.ctid::text::point)[0]
)
SELECT coalesce(sum(rows), 0)::bigint, coalesce(sum(transactions), 0)::bigint, coalesce(sum(numbers), 0)::bigint FROM blocks
"""
_BLOCK, _SAMPLED = 8192, 32

_Table = tuple[str, str]


@dataclass(frozen=True, slots=True)
class _Trigger:
    """Runs before each row is written."""

    source: str
    arguments: Sequence[str]
    on_insert: bool
    on_update: bool

    def writes(self, name: str) -> bool:
        """Whether the trigger's text assigns to the column, or it is called with the column's name, as `moddatetime` is."""
        new = rf"NEW\s*\.\s*\"?{re.escape(name)}\"?"
        # Where a statement begins: within one, `=` compares.
        assigned = rf"(;|\b(BEGIN|THEN|ELSE|LOOP)\b)(\s|--[^\n]*\n)*{new}\s*:?=|\bINTO\s+(STRICT\s+)?{new}(?!\w)"
        return name in self.arguments or re.search(assigned, self.source, re.IGNORECASE) is not None


def schemas(asked: Asked) -> tuple[str, ...]:
    """Every schema with a table, but for PostgreSQL's own."""
    return tuple(name for (name,) in asked.execute(_SCHEMAS).fetchall())


def describe(asked: Asked, shapes: Sequence[TableShape]) -> tuple[TableTraits, ...]:
    """One per table, in their order. A table that cannot be sampled goes without a sample."""
    names = ([shape.id.schema for shape in shapes], [shape.id.name for shape in shapes])
    facts = {(schema, name, at): found for schema, name, at, *found in asked.execute(_COLUMNS, names).fetchall()}
    triggers: dict[_Table, list[_Trigger]] = {}
    for schema, name, *found in asked.execute(_TRIGGERS, names).fetchall():
        triggers.setdefault((schema, name), []).append(_Trigger(*found))
    counts = {(schema, name): found for schema, name, *found in asked.execute(_COUNTS, names).fetchall()}
    traits = []
    with light(asked):
        for shape in shapes:
            place = (shape.id.schema, shape.id.name)
            columns = _columns(shape, facts, triggers.get(place, ()), _samples(asked, shape))
            counted = TableTraits(columns, *counts.get(place, (None, None, None)))
            seems_to_grow = counted.inserts and not counted.updates and not counted.deletes
            traits.append(replace(counted, written=_inserts(asked, shape)) if seems_to_grow else counted)
    return tuple(traits)


def _inserts(asked: Asked, shape: TableShape) -> Inserts | None:
    """How rows in some blocks, here and there in the table and all of its parts, have come; None where no row shows its transaction."""
    if not shape.row_versions:
        return None
    blocks = max(1, shape.bytes // _BLOCK)
    percent = min(100.0, 100.0 * _SAMPLED / blocks)
    try:
        return Inserts(*one_row(asked, _INSERTS.format(relation(shape.id), percent)))
    except psycopg.Error as error:
        raise_if_lost(asked, error)
        return None


def _columns(
    shape: TableShape,
    facts: dict[tuple[str, str, str], list[Any]],
    triggers: Sequence[_Trigger],
    samples: Sequence[Sample | None],
) -> tuple[ColumnTraits, ...]:
    found = []
    for (each, kind), sample in zip(cursor_columns(shape), samples, strict=True):
        indexed, has_default, null_share = facts.get((shape.id.schema, shape.id.name, each.name), (None, None, None))
        writers = [trigger for trigger in triggers if trigger.writes(each.name)]
        by_trigger = any(trigger.on_insert for trigger in writers)
        found.append(
            ColumnTraits(
                each,
                kind,
                indexed=indexed,
                on_insert=None if has_default is None else bool(has_default or by_trigger),
                on_update=any(trigger.on_update for trigger in writers),
                null_share=null_share,
                sample=sample,
            )
        )
    return tuple(found)


def _samples(asked: Asked, shape: TableShape) -> tuple[Sample | None, ...]:
    """One per candidate, from the last blocks of the table; None where its rows do not lie in blocks of its own."""
    names = [each.name for each, _ in cursor_columns(shape)]
    if not names or not shape.splits or not shape.pages:
        return tuple(None for _ in names)
    try:
        rows, *found = one_row(asked, _sample_sql(shape.id, names, shape.pages))
    except psycopg.Error as error:
        raise_if_lost(asked, error)
        return tuple(None for _ in names)
    return tuple(Sample(rows, *found[at : at + 3]) for at in range(0, len(found), 3))


def _sample_sql(table: TableId, names: Sequence[str], pages: int) -> str:
    """Names of ours alone above the innermost SELECT: a column may be called anything."""
    read = ", ".join(f"{column(name)} AS v{place}" for place, name in enumerate(names))
    before = ", ".join(f"v{place}, lag(v{place}) OVER (ORDER BY at) AS p{place}" for place in range(len(names)))
    counts = ", ".join(
        f"count(*) - count(v{place}), count(*) FILTER (WHERE v{place} = p{place}), count(*) FILTER (WHERE v{place} < p{place})"
        for place in range(len(names))
    )
    rows = last_rows(table, pages, f"t.ctid AS at, {read}")
    return f"SELECT count(*), {counts} FROM (SELECT {before} FROM ({rows}) AS r) AS s"
