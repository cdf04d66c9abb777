"""The partitions and children of a table, and the lowest cursor of chosen ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from incremental_assets.adapters.databases.postgresql.asked import Asked
from incremental_assets.adapters.databases.postgresql.batch import Question
from incremental_assets.adapters.databases.postgresql.light_queries import cursors
from incremental_assets.adapters.databases.postgresql.read_from import read_from
from incremental_assets.adapters.databases.postgresql.sql import ALIAS, Parameters, orderly
from incremental_assets.core.captures.database.observation import numbers
from incremental_assets.core.model.cursor import CursorValue
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.table_id import TableId

# The entry that has it in its table is written anew when it is attached again: what was done to its rows meanwhile no trigger of the table has stamped.
_MEMBERS = """
WITH RECURSIVE branches (place, relid, attached) AS (
    SELECT w.place, h.inhrelid, h.xmin::text
    FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS w (schema, name, place)
    JOIN pg_namespace AS n ON n.nspname = w.schema JOIN pg_class AS c ON c.relnamespace = n.oid AND c.relname = w.name
    JOIN pg_inherits AS h ON h.inhparent = c.oid AND NOT h.inhdetachpending
    UNION
    SELECT b.place, h.inhrelid, b.attached || ' ' || h.xmin FROM branches AS b JOIN pg_inherits AS h ON h.inhparent = b.relid AND NOT h.inhdetachpending
)
SELECT m.place, array_agg(m.relid | (m.attached << 32) ORDER BY m.relid)
FROM (SELECT b.place, b.relid::bigint AS relid, min(1 + (hashtext(b.attached)::bigint & 1073741823)) AS attached
      FROM branches AS b JOIN pg_class AS c ON c.oid = b.relid WHERE c.relkind <> 'p' GROUP BY b.place, b.relid) AS m GROUP BY m.place
"""

# By the partition's own bounds the planner passes over all others, and only the table itself need be granted.
_BOUNDS = "SELECT o, coalesce(pg_get_partition_constraintdef(o), 'TRUE') FROM unnest($1::oid[]) AS o"


def members(asked: Asked, tables: Sequence[TableId]) -> list[tuple[int, ...]]:
    """The partitions and inheritance children of each table, at any depth, without those that are partitioned themselves, by ascending oids; above these how each was attached."""
    rows = asked.execute(_MEMBERS, ([each.schema for each in tables], [each.name for each in tables])).fetchall()
    found = {place: tuple(oids) for place, oids in rows}
    return [found.get(place, ()) for place in range(1, len(tables) + 1)]


def lowest_of_members(
    asked: Asked, wanted: Mapping[int, tuple[TableSpec, Sequence[int]]], *, alone: bool
) -> dict[int, CursorValue | None]:
    """The smallest cursor in some members of each table."""
    known = {index: (spec, numbers(joined)) for index, (spec, joined) in wanted.items()}
    bounds: dict[int, str] = dict(
        asked.execute(_BOUNDS, ([oid for _, oids in known.values() for oid in oids],)).fetchall()
    )
    questions = {index: _lowest(spec, oids, bounds) for index, (spec, oids) in known.items()}
    return cursors(asked, {index: spec for index, (spec, _) in wanted.items()}, questions, alone=alone)


def _lowest(spec: TableSpec, oids: Sequence[int], bounds: Mapping[int, str]) -> Question:
    def question(values: Parameters) -> str:
        of_each = (f"{ALIAS}.tableoid = {values(str(oid), 'oid')} AND ({bounds[oid]})" for oid in oids)
        one_by_one = " UNION ALL ".join(
            f"SELECT min({orderly(spec)}) AS lowest {read_from(spec, rows)}" for rows in of_each
        )
        return f"SELECT CAST(min(m.lowest) AS text) FROM ({one_by_one}) AS m"

    return question
