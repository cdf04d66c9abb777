"""SQL for the hash of the bytes of a row's values, as adapters/databases/byte_hash.py defines it; and whether a server computes the same."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import psycopg

from incremental_assets.adapters.databases.measure import LONG
from incremental_assets.adapters.databases.postgresql.asked import Asked
from incremental_assets.adapters.databases.postgresql.sql import ALIAS, identifier, literal, value_of
from incremental_assets.adapters.databases.postgresql.types import as_days, as_text
from incremental_assets.core.model.column import Column, Fidelity
from incremental_assets.core.model.key_parts import HASH_BITS

_LIMITED = re.compile(r"character( varying)?\((\d+)\)")
_BYTES = 4
"""The bytes of a character, at the most."""
_WORDS = ("tinyint", "smallint", "int", "boolean")
_FLOATS = ("float", "double")

_MOMENT = datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)
_KNOWN: tuple[tuple[str, str, Any], ...] = (
    ("integer", "int", -7),
    ("boolean", "boolean", True),
    ("date", "date", date(1969, 7, 20)),
    ("bigint", "bigint", -(2**40) - 1),
    ("timestamp with time zone", "timestamp", _MOMENT),
    ("timestamp without time zone", "timestamp_ntz", _MOMENT.replace(tzinfo=None)),
    ("numeric(20,6)", "decimal(20,6)", Decimal("-1200345.067000")),
    ("double precision", "double", -0.1),
    ("character(7)", "string", "käse   "),
    ("character varying(20)", "string", "more than twelve 😀"),
    ("text", "string", "long " * 300),
    ("bytea", "binary", bytes(range(256)) * 5),
    ("text", "string", None),
)
"""One value of each kind: its type here and in a copy."""


def byte_hash(columns: Sequence[Column]) -> str:
    """A row's hash, a bigint: what the record is hashed to is hashed once more."""
    values = ", ".join(map(_counted, columns))
    return f"hash_record_extended(ROW(int8send(hash_record_extended(ROW({values}), 0))), 0)"


def byte_place(columns: Sequence[Column]) -> str:
    """The place of a key that has this hash: its last bits."""
    return f"({byte_hash(columns)} & {(1 << HASH_BITS) - 1})"


def hashes_alike(asked: Asked) -> bool:
    """Whether this server hashes known values as we do: one of another make, byte order or encoding does not."""
    columns = [Column(f"c{place}", kind, spark, Fidelity.EXACT) for place, (kind, spark, _) in enumerate(_KNOWN)]
    values = ", ".join(
        f"CAST({_written(value)} AS {kind}) AS {identifier(each.name)}"
        for each, (kind, _, value) in zip(columns, _KNOWN, strict=True)
    )
    try:
        with asked.attempt():
            found = asked.execute(f"SELECT {byte_hash(columns)} FROM (SELECT {values}) AS {ALIAS}").fetchone()
    except (psycopg.DataError, psycopg.NotSupportedError, psycopg.ProgrammingError):
        return False
    return found is not None and found[0] == _expected()


def _expected() -> int:
    # Only where rows are to be hashed: a light look at a source loads no Arrow.
    import pyarrow as pa

    from incremental_assets.adapters.databases import byte_hash
    from incremental_assets.adapters.spark.arrow_types import required_type

    rows = [pa.chunked_array([pa.array([value], required_type(spark))]) for _, spark, value in _KNOWN]
    return int(byte_hash.row_hashes(rows)[0])


def _written(value: Any) -> str:
    if value is None:
        return "NULL"
    return literal(f"\\x{value.hex()}" if isinstance(value, bytes) else str(value))


def _counted(each: Column) -> str:
    """The value as a number of 32 bits, as bytes, or as a text that no collation changes."""
    value, kind = value_of(each), each.spark_type
    if kind in _WORDS:
        return f"CAST({value} AS integer)"
    if kind == "date":
        return as_days(value)
    if kind == "bigint":
        return f"int8send(CAST({value} AS bigint))"
    if kind in ("timestamp", "timestamp_ntz"):
        return f"timestamp{'tz' if kind == 'timestamp' else ''}_send({value})"
    if kind in _FLOATS:
        # Every NaN is the same one.
        return f"float8send(CASE WHEN {value} = 'NaN' THEN 'NaN' ELSE CAST({value} AS double precision) END)"
    if kind.startswith("decimal"):
        return f"numeric_send(CAST({value} AS {kind.replace('decimal', 'numeric')}))"
    if kind == "binary":
        value = f"CAST({value} AS bytea)"
        return f"CASE WHEN octet_length({value}) > {LONG} THEN decode(md5({value}), 'hex') ELSE {value} END"
    return _text(each, value)


def _text(each: Column, value: str) -> str:
    limited = _LIMITED.fullmatch(each.source_type)
    is_short = limited is not None and int(limited[2]) * _BYTES <= LONG
    if limited and is_short and limited[1] is None:
        # A cast would strip the blanks at its end.
        return f"bpcharsend({value})"
    text = as_text(each, value)
    if not is_short:
        text = f"CASE WHEN octet_length({text}) > {LONG} THEN md5({text}) ELSE {text} END"
    return f'({text}) COLLATE "C"'
