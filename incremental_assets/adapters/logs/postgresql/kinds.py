"""The types of the log's columns, by the same table of types as a snapshot's: asked of the catalogue by number and modifier, domains resolved."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from incremental_assets.adapters.databases.postgresql.asked import Asked
from incremental_assets.adapters.databases.postgresql.encodings import legible, may_be_other, shown
from incremental_assets.adapters.databases.postgresql.types import SourceType, spark_type
from incremental_assets.adapters.logs.postgresql.relation import Attribute, Kind, Layout, Relation
from incremental_assets.core.errors import SchemaChanged

TypeId = tuple[int, int]
"""Number and modifier."""

_BINARY = frozenset(
    (
        "smallint",
        "integer",
        "bigint",
        "boolean",
        "real",
        "double precision",
        "bytea",
        "date",
        "text",
        "name",
        "json",
        "jsonb",
        "uuid",
        "bpchar",
    )
)
_BINARY_BY_BEGINNING = re.compile(r"(character varying|character|timestamp)(\(\d+\))?( with(out)? time zone)?")

# A cast to text that is a function need not give what the type's output gives, which is what the log sends. Of the server's own only `inet` has one
# that differs, by the length of the mask, which is put to it here.
_KINDS = f"""
WITH RECURSIVE wanted AS (
    SELECT w.type AS asked, w.modifier AS with, w.type, w.modifier FROM unnest($1::oid[], $2::int[]) AS w (type, modifier)
), resolved AS (
    SELECT w.asked, w.with, w.type, w.modifier FROM wanted AS w
    UNION ALL
    SELECT r.asked, r.with, t.typbasetype, CASE WHEN r.modifier = -1 THEN t.typtypmod ELSE r.modifier END
    FROM resolved AS r JOIN pg_type AS t ON t.oid = r.type WHERE t.typtype = 'd'
)
SELECT r.asked::bigint, r.with, {legible("format_type(t.oid, r.modifier)")}, t.typtype::text, {shown("t.typname")}::text,
       EXISTS (SELECT FROM pg_cast AS c WHERE c.castsource = t.oid AND c.casttarget = 'text'::regtype AND c.castmethod = 'f' AND t.oid >= 16384)
FROM resolved AS r JOIN pg_type AS t ON t.oid = r.type WHERE t.typtype <> 'd'
"""
_OWN_TEXT = (
    "has a cast to text of its own, so that what the log sends need not be what a snapshot shows; leave the column out of the copy "
    "with `columns: {exclude: …}`, or read the table by a cursor"
)
_XML = (
    "the log sends xml without its declaration and without a line break that it begins with, which a snapshot shows; leave the column out of the copy "
    "with `columns: {exclude: …}`, or read the table by a cursor"
)


def kinds_of(asked: Asked, types: Collection[TypeId]) -> dict[TypeId, Kind]:
    """The kinds of these types; one that the catalogue does not know any more is missing."""
    wanted = sorted(set(types))
    if not wanted:
        return {}
    answer = asked.execute(_KINDS, ([oid for oid, _ in wanted], [modifier for _, modifier in wanted]))
    return {(oid, modifier): _kind(asked.encoding, *facts) for oid, modifier, *facts in answer}


def layout_of(relation: Relation, left_out: Collection[str], kinds: Mapping[TypeId, Kind]) -> Layout:
    """The columns of a relation but those that are left out. Raises SchemaChanged."""
    places = tuple(place for place, each in enumerate(relation.attributes) if each.name not in left_out)
    return Layout(relation, places, tuple(_known(relation, relation.attributes[place], kinds) for place in places))


def is_binary(text: str, kind: str, name: str) -> bool:
    """Whether the values of a type are read from its binary format: the others, and all beside them, come as texts."""
    if text.startswith("numeric"):
        return spark_type(SourceType(text, kind, name))[0].startswith("decimal")
    return text in _BINARY or _BINARY_BY_BEGINNING.fullmatch(text) is not None or kind == "e" or name == "citext"


def _kind(encoding: str, text: str, kind: str, name: str, has_own_text: bool) -> Kind:  # noqa: FBT001 (a column of the answer)
    spark, fidelity = spark_type(SourceType(text, kind, name))
    refused = _XML if text == "xml" else f"its type {text} {_OWN_TEXT}" if has_own_text and name != "citext" else ""
    other = encoding if spark == "string" and may_be_other(encoding, text) else ""
    return Kind(text, spark, fidelity, is_binary(text, kind, name), other, refused)


def _known(relation: Relation, each: Attribute, kinds: Mapping[TypeId, Kind]) -> Kind:
    kind = kinds.get((each.type, each.modifier))
    if kind is None:
        raise SchemaChanged(
            f"{relation.schema}.{relation.name}: the log has rows whose column {each.name!r} has a type that was dropped since, so that they are not read; "
            "reset the table, so that it is loaded as it is now"
        )
    return kind
