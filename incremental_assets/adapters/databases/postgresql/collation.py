"""Which values of a key PostgreSQL takes for equal, where a copy holds them differently: words for a column, and the SQL of a collation key of such columns.

Where no text shows it, hashes of the type's own tell: they are equal where the operator of the key says so, and two of 64 bits are equal elsewhere by chance alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from incremental_assets.core.model.column import Column

# Any other takes texts for equal only where they are the same. Another version of the library may compare otherwise.
COLLATIONS = """
collations (oid, name) AS (
    SELECT c.oid, format('%I.%I', n.nspname, c.collname) || '@' || coalesce(pg_collation_actual_version(c.oid), '')
    FROM pg_collation AS c JOIN pg_namespace AS n ON n.oid = c.collnamespace WHERE NOT c.collisdeterministic
)
"""
# The types that have a hash of their own.
HASHES = """
hashes (type) AS (
    SELECT o.opcintype FROM pg_opclass AS o JOIN pg_am AS m ON m.oid = o.opcmethod
    JOIN pg_amproc AS p ON p.amprocfamily = o.opcfamily AND p.amproclefttype = o.opcintype AND p.amprocnum = 2
    WHERE m.amname = 'hash' AND o.opcdefault
)
"""

_ALIKE = re.compile(
    r'smallint|integer|bigint|boolean|date|bytea|uuid|oid|xid8?|cid|tid|pg_lsn|name|"char"|text|character( varying)?(\(\d+\))?|money|inet|cidr|macaddr8?|'
    r"time(stamp)?(\(\d\))? (with|without) time zone|numeric\(\d+,-?\d+\)|bit( varying)?(\(\d+\))?|(int[48]|date|ts|tstz)(multi)?range|json|xml|reg[a-z]+"
)
"""Types whose equal values have one text."""
_ALIKE_BY_NAME = ("ltree", "hstore")
"""The same of extensions, whatever their schema is."""
_TEXTS = re.compile(r'text|name|"char"|bpchar|character( varying)?(\(\d+\))?')
_CITEXT, _BLANKS, _NUMERIC, _FLOAT, _INTERVAL, _HASH, _JSON = (
    "citext",
    "bpchar",
    "numeric",
    "float",
    "interval",
    "hash",
    "jsonb",
)
_AT = "@"
"""Between a collation and its version."""

Named = Callable[[str], str]
"""SQL for a column's value by its name."""


@dataclass(frozen=True, slots=True)
class Comparing:
    """How a column is compared. `collation`: a nondeterministic one, with its version; empty for one that takes texts for equal only where they are the same.

    `element`: the type of an array's elements, as `format_type()` has it; `hashes`: whether its type, or its elements', has a hash of its own.
    """

    text: str
    kind: str
    name: str
    collation: str
    element: str
    hashes: bool


def words(of: Comparing) -> tuple[str, str]:
    """The collation of such a column, and why it can be no part of a key; each empty where there is none."""
    if of.name == "citext":
        return (f"{_CITEXT} {of.collation}".strip(), "")
    if of.collation and _TEXTS.fullmatch(of.text):
        return of.collation, ""
    if of.text in (_BLANKS, _NUMERIC):
        return of.text, ""
    if of.text in ("real", "double precision"):
        return _FLOAT, ""
    if of.text.startswith(_INTERVAL) and not of.element:
        return _INTERVAL, ""
    if of.kind == "e" or of.name in _ALIKE_BY_NAME or _ALIKE.fullmatch(of.text):
        return "", ""
    # Blanks at the end of an element count for nothing where it has no length.
    if _ALIKE.fullmatch(of.element) and not of.collation and of.text != f"{_BLANKS}[]":
        return "", ""
    if of.text == _JSON:
        return _JSON, ""
    return (_HASH, "") if of.hashes else ("", "PostgreSQL does not show which of its values it takes for equal")


def collation_key(of: Sequence[Column], named: Named) -> str:
    """SQL for one text of some columns, equal where PostgreSQL takes their values for equal, and NULL where one of them is NULL."""
    parts = [_folded(column, named(column.name)) for column in of]
    if len(parts) == 1:
        return parts[0]
    return "(" + " || ',' || ".join(f"length({part}) || ':' || {part}" for part in parts) + ")"


def _folded(column: Column, value: str) -> str:
    match column.collation:
        case "bpchar":
            return f"rtrim(textin(bpcharout({value})), ' ')"
        case "numeric":
            return f"CAST(trim_scale(CAST({value} AS numeric)) AS text)"
        case "float":
            return f"CASE WHEN {value} = 0 THEN '0' ELSE CAST(CAST({value} AS double precision) AS text) END"
        case "interval":
            return f"CASE WHEN isfinite({value}) THEN CAST(trim_scale({_seconds(value)}) AS text) ELSE CAST({value} AS text) END"
        case "hash":
            return _hashed(value)
        case "jsonb":
            # Numbers aside, equal ones have one text: beside it a hash need tell numbers alone.
            return f"md5(regexp_replace(CAST({value} AS text), '[0-9.]', '', 'g')) || ':' || {_hashed(value)}"
        case other:
            return _text(other, column, value)


def _text(collation: str, column: Column, value: str) -> str:
    is_citext = collation.startswith(_CITEXT)
    text = f"CAST({value} AS text)"
    if is_citext:
        # As the type does, by the database's own collation.
        text = f'lower({text} COLLATE pg_catalog."default")'
    elif column.source_type.startswith(("character(", "bpchar")):
        text = f"rtrim(textin(bpcharout({value})), ' ')"
    name = collation.removeprefix(_CITEXT).strip().rpartition(_AT)[0]
    if not name:
        return text
    hashes = (f"CAST(hashtextextended({text} COLLATE {name}, {seed}) AS text)" for seed in (0, 1))
    return "(" + " || ':' || ".join(hashes) + ")"


def _hashed(value: str) -> str:
    hashes = (f"CAST(hash_record_extended(ROW({value}), {seed}) AS text)" for seed in (0, 1))
    # Of a NULL there is a hash, too.
    both = " || ':' || ".join(hashes)
    return f"CASE WHEN {value} IS NOT NULL THEN {both} END"


def _seconds(value: str) -> str:
    """A finite interval as its comparison has it: months of 30 days, and days of 24 hours."""
    part = {name: f"extract({name} FROM {value})" for name in ("year", "month", "day", "hour", "minute", "second")}
    days = f"({part['year']} * 12 + {part['month']}) * 30 + {part['day']}"
    return f"((({days}) * 24 + {part['hour']}) * 60 + {part['minute']}) * 60 + {part['second']}"
