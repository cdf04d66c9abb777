"""The checksum format that source and lake share: one canonical text per value, one hash per row, one sum per window.

A row's hash is the first 60 bits of the MD5 of its columns' canonical texts, joined by commas; NULL is `~`. Texts carry their length,
every other kind has neither comma nor tilde, so no two rows share a text. The sum of the hashes does not depend on the rows' order.

=============== ============================================== =================================
Spark type      PostgreSQL (postgresql/rows/measure.py)        Spark (below)
=============== ============================================== =================================
integers        text                                           text
decimal(p,s)    text, always s digits                          text, always s digits (ANSI mode)
boolean         true, false                                    true, false
float, double   hexadecimal, as Java's `%a` writes it          `%a`
date            days since 1970-01-01                          days since 1970-01-01
timestamps      microseconds since 1970-01-01 UTC              the same
binary          hexadecimal digits                             hexadecimal digits
string          length in characters, `:`, the text            the same
=============== ============================================== =================================
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import date, datetime, timedelta

from incremental_assets.core.model.column import WHOLE, Column
from incremental_assets.core.model.table import TableSpec

NULL = "~"
SEPARATOR = ","
LONG = 1024
"""Bytes beyond which the MD5 of a text counts in the hash of `byte_hash.py`."""


def spark_row_hash(columns: Sequence[Column]) -> str:
    """Spark SQL for a row's hash, a BIGINT of 60 bits, whose sum may need more than 64. The session's zone is UTC and ANSI is on."""
    return spark_text_hash(spark_row_text(columns))


def spark_text_hash(text: str) -> str:
    """Spark SQL for the hash of what is a canonical text in Spark SQL."""
    return f"CAST(conv(substr(md5({text}), 1, 15), 16, 10) AS BIGINT)"


def spark_row_text(columns: Sequence[Column]) -> str:
    """Spark SQL for the canonical text of some columns of a row."""
    texts = ", ".join(f"coalesce({_canonical(column)}, '{NULL}')" for column in columns)
    return f"concat_ws('{SEPARATOR}', {texts})"


def spark_key_text(columns: Sequence[Column]) -> str:
    """Spark SQL for a key's canonical text: a key of one text is that text."""
    if len(columns) == 1 and columns[0].spark_type == "string":
        return f"coalesce({spark_name(columns[0].name)}, '{NULL}')"
    return spark_row_text(columns)


def text_hash(text: str) -> int:
    """The hash of a canonical text, as SQL computes it on either side."""
    return int(hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()[:15], 16)


def placed_by_value(spec: TableSpec) -> bool:
    """Whether a key lies on the line of `core.model.key_parts` by its own value: one whole number of 64 bits at most. Any other lies there by its hash."""
    kinds = {column.name: column.spark_type for column in spec.columns}
    return len(spec.key) == 1 and kinds[spec.key[0]] in WHOLE


def readable_key(columns: Sequence[Column], text: str) -> str:
    """A key's canonical text as people read it: moments and numbers in their usual form, texts without their length."""
    if len(columns) == 1 and columns[0].spark_type == "string":
        return text
    return readable_parts(columns, text)


def readable_parts(columns: Sequence[Column], text: str) -> str:
    """The same of the canonical text of any columns of a row."""
    return ", ".join("NULL" if value is None else value for value in readable_values(columns, text))


def readable_values(columns: Sequence[Column], text: str) -> tuple[str | None, ...]:
    """The values in the canonical text of some columns as people read them; None for NULL."""
    parts = zip(columns, parts_of(columns, text), strict=True)
    return tuple(None if part is None else _readable(column, part) for column, part in parts)


def parts_of(columns: Sequence[Column], text: str) -> list[str | None]:
    """The text of each value in a canonical text, without its length; None for NULL."""
    parts, rest = [], text
    for column in columns:
        part, rest = _first_part(column, rest)
        parts.append(part)
    return parts


def _first_part(column: Column, text: str) -> tuple[str | None, str]:
    """The text of the first value, without its length, None for NULL; and what follows its comma."""
    if column.spark_type == "string" and not text.startswith(NULL):
        length, _, rest = text.partition(":")
        return rest[: int(length)], rest[int(length) + 1 :]
    part, _, rest = text.partition(SEPARATOR)
    return None if part == NULL else part, rest


def _readable(column: Column, part: str) -> str:
    kind = column.spark_type
    try:
        if kind == "date":
            return str(date(1970, 1, 1) + timedelta(days=int(part)))
        if kind in ("timestamp", "timestamp_ntz"):
            moment = datetime(1970, 1, 1) + timedelta(microseconds=int(part))  # noqa: DTZ001 - UTC, or no zone at all
            return moment.isoformat() + ("Z" if kind == "timestamp" else "")
    except OverflowError:
        return part  # outside of Python's calendar
    return repr(float.fromhex(part)) if kind in ("float", "double") else part


def spark_name(name: str) -> str:
    """A column's name as Spark SQL quotes it."""
    doubled = name.replace("`", "``")
    return f"`{doubled}`"


def _canonical(column: Column) -> str:
    value, kind = spark_name(column.name), column.spark_type
    if kind in ("float", "double"):
        return f"IF({value} IS NULL, NULL, format_string('%a', CAST({value} AS DOUBLE)))"
    if kind == "date":
        return f"CAST(unix_date({value}) AS STRING)"
    if kind == "timestamp":
        return f"CAST(unix_micros({value}) AS STRING)"
    if kind == "timestamp_ntz":
        return f"CAST(unix_micros(CAST({value} AS TIMESTAMP)) AS STRING)"
    if kind == "binary":
        return f"lower(hex({value}))"
    if kind == "string":
        return f"concat(length({value}), ':', {value})"
    return f"CAST({value} AS STRING)"
