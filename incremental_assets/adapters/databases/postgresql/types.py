"""PostgreSQL's type table: the Spark type of each source type, how a value is transferred, and which values are rejected.

Spark's JDBC reader sees nothing but smallint, int, bigint, real, double, boolean, text, bytea and numeric(p,s); everything else is
turned into one of these in the source, where it is exact.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from incremental_assets.adapters.databases.jdbc import Transport
from incremental_assets.adapters.databases.postgresql.encodings import not_utf8
from incremental_assets.adapters.databases.postgresql.sql import value_of
from incremental_assets.core.model.column import Column, Fidelity

_SIMPLE = {
    "smallint": "smallint",
    "integer": "int",
    "bigint": "bigint",
    "boolean": "boolean",
    "real": "float",
    "double precision": "double",
    "bytea": "binary",
    "date": "date",
}
_TEXTS = re.compile(r'text|name|"char"|json|xml|bpchar|character( varying)?(\(\d+\))?')
"""Types whose values are texts, so that a string holds all there is to them."""
_NUMERIC = re.compile(r"numeric\((\d+),(-?\d+)\)")
_TIMESTAMP = re.compile(r"timestamp(\(\d\))? (with|without) time zone")

_LAST_MICROSECOND = "294247-01-10 04:00:54.775807"
"""The largest signed 64-bit count of microseconds; PostgreSQL's range is 29 years longer, and it rounds extract() from this one on."""


@dataclass(frozen=True, slots=True)
class SourceType:
    """A type as the catalogue shows it, domains resolved. `text` is format_type()'s, `kind` is pg_type.typtype, `name` is typname."""

    text: str
    kind: str
    name: str


@dataclass(frozen=True, slots=True)
class Unholdable:
    """Values that a column's Spark type cannot hold: the condition in SQL, and the reason for people."""

    condition: str
    reason: str


def spark_type(source: SourceType) -> tuple[str, Fidelity]:
    """The Spark type of a source type, as DDL, and how faithful it is. Whatever is not known travels as PostgreSQL's own text."""
    if source.text in _SIMPLE:
        return _SIMPLE[source.text], Fidelity.EXACT
    numeric = _NUMERIC.fullmatch(source.text)
    if numeric is not None:
        precision, scale = int(numeric[1]), int(numeric[2])
        if precision <= 38 and 0 <= scale <= precision:
            return f"decimal({precision},{scale})", Fidelity.EXACT
    timestamp = _TIMESTAMP.fullmatch(source.text)
    if timestamp is not None:
        return ("timestamp" if timestamp[2] == "with" else "timestamp_ntz"), Fidelity.EXACT
    is_text = _TEXTS.fullmatch(source.text) is not None or source.kind == "e" or source.name == "citext"
    return "string", Fidelity.EXACT if is_text else Fidelity.TEXT


def transport(found: Column, alias: str, *, guarded: bool = True) -> Transport:
    """How a column travels: as itself, as a count of days or microseconds, or as text.

    What Spark cannot hold becomes NULL; without `guarded` it raises, for rows that are known to hold nothing of the kind.
    """
    value = value_of(found)
    select = _travel(found, value)
    bad = unholdable(found) if guarded else None
    if bad is not None:
        # nullif() keeps a numeric's precision, which CASE would drop, and then Spark's reader would choose one of its own.
        select = (
            f"nullif({select}, 'NaN')"
            if found.spark_type.startswith("decimal")
            else f"CASE WHEN NOT ({bad.condition}) THEN {select} END"
        )
    return Transport(name=found.name, alias=alias, select=select, spark=_arrive(found, alias))


def unholdable(found: Column) -> Unholdable | None:
    """The values of a column that Spark cannot hold, None where it holds them all."""
    value = value_of(found)
    if found.encoding:
        return Unholdable(not_utf8(found.encoding, as_text(found, value)), "the text is not UTF-8")
    if found.spark_type.startswith("decimal"):
        return Unholdable(f"{value} = 'NaN'", f"NaN does not fit into {found.spark_type}")
    if found.spark_type == "date":
        return Unholdable(f"NOT isfinite({value})", "infinity does not fit into a date of Spark")
    if found.spark_type in ("timestamp", "timestamp_ntz"):
        last = (
            f"timestamptz '{_LAST_MICROSECOND}+00'"
            if found.spark_type == "timestamp"
            else f"timestamp '{_LAST_MICROSECOND}'"
        )
        return Unholdable(
            f"({value} >= {last} OR {value} = '-infinity')",
            "infinity, or a moment after the year 294246, does not fit into a timestamp of Spark",
        )
    return None


def holdable(columns: Sequence[Column], words: str) -> str:
    """What is selected for a key, NULL where Spark cannot hold it: of an infinite moment there are no microseconds."""
    conditions = [bad.condition for bad in map(unholdable, columns) if bad is not None]
    return f"CASE WHEN ({' OR '.join(conditions)}) IS NOT TRUE THEN {words} END" if conditions else words


def as_days(value: str) -> str:
    """A finite date as days since 1970-01-01."""
    return f"({value} - date '1970-01-01')"


def as_micros(value: str) -> str:
    """A finite timestamp as microseconds since 1970-01-01; extract() is exact since PostgreSQL 14, before that it was a float."""
    return f"CAST(extract(epoch FROM {value}) * 1000000 AS bigint)"


_OF_A_SCHEMA = "."
"""In the name of a type that is not PostgreSQL's own, as our sessions have no other schema in their path."""


def as_text(found: Column, value: str) -> str:
    """A value as PostgreSQL prints it; a cast would strip the padding of char(n), and of a type of a user's call whatever function they have made the cast of."""
    if found.source_type.startswith(("character(", "bpchar")) and not found.source_type.endswith("[]"):
        return f"textin(bpcharout({value}))"
    if _OF_A_SCHEMA in found.source_type:
        return f"CASE WHEN {value} IS DISTINCT FROM NULL THEN concat({value}) END"
    return f"CAST({value} AS text)"


_TRAVELS = {
    "smallint": "smallint",
    "int": "integer",
    "bigint": "bigint",
    "boolean": "boolean",
    "float": "real",
    "double": "double precision",
    "binary": "bytea",
}


def _travel(found: Column, value: str) -> str:
    kind = found.spark_type
    if kind in _TRAVELS:
        # The cast looks like none, but it strips a domain, whose name would reach Spark as a type of its own.
        return f"CAST({value} AS {_TRAVELS[kind]})"
    if kind.startswith("decimal"):
        return f"CAST({value} AS {_numeric(found)})"
    if kind == "date":
        return as_days(value)
    if kind in ("timestamp", "timestamp_ntz"):
        return as_micros(value)
    return as_text(found, value)


def _arrive(found: Column, alias: str) -> str:
    if found.spark_type == "date":
        return f"date_from_unix_date({alias})"
    if found.spark_type == "timestamp":
        return f"timestamp_micros({alias})"
    if found.spark_type == "timestamp_ntz":
        return f"CAST(timestamp_micros({alias}) AS timestamp_ntz)"
    return alias


def _numeric(found: Column) -> str:
    return found.spark_type.replace("decimal", "numeric")
