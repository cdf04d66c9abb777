"""Which partitions and children a table has, and where the rows of those begin that have joined since the last sync."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import psycopg

from incremental_assets.adapters.databases.postgresql.batch import Question, answers
from incremental_assets.adapters.databases.postgresql.numbers import parse_cursor
from incremental_assets.adapters.databases.postgresql.sql import ALIAS, Parameters, orderly, relation
from incremental_assets.core.model.look import Look
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.planning.parts import joined
from incremental_assets.core.planning.plan import Parts

_MEMBERS = """
WITH RECURSIVE branches (place, relid) AS (
    SELECT w.place, h.inhrelid
    FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS w (schema, name, place)
    JOIN pg_namespace AS n ON n.nspname = w.schema JOIN pg_class AS c ON c.relnamespace = n.oid AND c.relname = w.name
    JOIN pg_inherits AS h ON h.inhparent = c.oid AND NOT h.inhdetachpending
    UNION
    SELECT b.place, h.inhrelid FROM branches AS b JOIN pg_inherits AS h ON h.inhparent = b.relid AND NOT h.inhdetachpending
)
SELECT b.place, array_agg(b.relid::bigint ORDER BY b.relid::bigint)
FROM branches AS b JOIN pg_class AS c ON c.oid = b.relid WHERE c.relkind <> 'p' GROUP BY b.place
"""

# By the partition's own bounds the planner passes over all others, and only the table itself need be granted.
_BOUNDS = "SELECT o, coalesce(pg_get_partition_constraintdef(o), 'TRUE') FROM unnest($1::oid[]) AS o"


def members(asked: psycopg.RawCursor[Any], looks: Sequence[Look]) -> list[tuple[int, ...]]:
    """Per look the partitions, at any depth, and the inheritance children in which rows may lie; ascending."""
    tables = [look.spec.id for look in looks]
    rows = asked.execute(_MEMBERS, ([each.schema for each in tables], [each.name for each in tables])).fetchall()
    found = {place: tuple(oids) for place, oids in rows}
    return [found.get(place, ()) for place in range(1, len(looks) + 1)]


def parts(asked: psycopg.RawCursor[Any], looks: Sequence[Look], before: Sequence[tuple[int, ...]]) -> list[Parts]:
    """What is there now and was `before`: a member that was away in between is of those that have joined, next time."""
    if not any(before):
        # The state of a look may know of members that have left since.
        return [Parts(()) for _ in looks]
    after = members(asked, looks)
    stayed = [Parts(tuple(one for one in now if one in then)) for then, now in zip(before, after, strict=True)]
    new = {
        index: unread
        for index, (look, each) in enumerate(zip(looks, stayed, strict=True))
        if look.spec.is_incremental and (unread := joined(look.state, each))
    }
    bounds = (
        dict(asked.execute(_BOUNDS, ([oid for unread in new.values() for oid in unread],)).fetchall()) if new else {}
    )
    questions = {index: _lowest(looks[index].spec, unread, bounds) for index, unread in new.items()}
    found = answers(asked, questions, alone=len(looks) == 1)
    told = list(stayed)
    for index, (lowest,) in found.items():
        # A value that nobody foresaw: what has joined is then read whole, by a sync that says what is wrong.
        with suppress(Exception):
            told[index] = Parts(stayed[index].members, new[index], parse_cursor(looks[index].spec, lowest))
    return told


def _lowest(spec: TableSpec, oids: Sequence[int], bounds: Mapping[int, str]) -> Question:
    def question(values: Parameters) -> str:
        one_by_one = " UNION ALL ".join(
            f"SELECT min({orderly(spec)}) AS lowest FROM {relation(spec.id)} "
            f"WHERE {ALIAS}.tableoid = {values(str(oid), 'oid')} AND ({bounds[oid]})"
            for oid in oids
        )
        return f"SELECT CAST(min(m.lowest) AS text) FROM ({one_by_one}) AS m"

    return question
