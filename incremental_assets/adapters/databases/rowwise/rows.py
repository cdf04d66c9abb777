"""A table's rows as Spark will hold them, and their canonical texts for hashes, made in Python."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Context, Decimal, Inexact
from typing import Any

from incremental_assets.adapters.databases.measure import NULL, SEPARATOR, placed_by_value
from incremental_assets.adapters.databases.rowwise.sql import column_of, cursor_columns, selected
from incremental_assets.adapters.databases.rowwise.tongue import Link, Tongue, Unfit
from incremental_assets.core.model.table import Column, TableSpec

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DIGITS = Context(prec=80, traps=[Inexact])
NO_PLACE = -1 << 63
"""Where no copy has a key."""


@dataclass(frozen=True, slots=True)
class Read:
    """One row: its values as Spark is to hold them and as the driver brought them, its cursor, and the first value that is not of its kind."""

    values: tuple[Any, ...]
    brought: tuple[Any, ...]
    cursor: Any = None
    column: str = ""
    reason: str = ""


def read_rows(tongue: Tongue, link: Link, spec: TableSpec, condition: str) -> Iterator[Read]:
    """The rows that fulfil a condition, one by one."""
    converters = [tongue.converter(column) for column in spec.columns]
    places = [spec.shape.names.index(column.name) for column in cursor_columns(spec)] if spec.is_incremental else []
    for brought in link.rows(selected(tongue, spec, spec.shape.names, condition)):
        values, column, reason = _converted(spec, brought, converters)
        stamps = (values[place] for place in places if values[place] is not None)
        yield Read(values, brought, next(stamps, None), column, reason)


def _converted(
    spec: TableSpec, brought: Sequence[Any], converters: Sequence[Callable[[Any], Any]]
) -> tuple[tuple[Any, ...], str, str]:
    values: list[Any] = []
    name = reason = ""
    for column, value, convert in zip(spec.columns, brought, converters, strict=True):
        try:
            values.append(None if value is None else convert(value))
        except Unfit as error:
            values.append(None)
            name, reason = name or column.name, reason or str(error)
    return tuple(values), name, reason


def raw(spec: TableSpec, row: Read) -> str:
    """The row as people read it: a JSON object of texts, a value that Spark cannot hold as it was brought."""
    shown = (brought if value is None else value for value, brought in zip(row.values, row.brought, strict=True))
    texts = (None if value is None else _printed(value) for value in shown)
    return json.dumps(dict(zip(spec.shape.names, texts, strict=True)))


def _printed(value: Any) -> str:
    return f"x'{value.hex()}'" if isinstance(value, (bytes, bytearray)) else str(value)


def row_hash(columns: Sequence[Column], values: Sequence[Any]) -> int:
    """The first 60 bits of the MD5 of the row's canonical text: see `databases/measure.py`."""
    return hashed(row_text(columns, values))


def hashed(text: str) -> int:
    """The hash of a canonical text."""
    return int(hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()[:15], 16)


def row_text(columns: Sequence[Column], values: Sequence[Any]) -> str:
    """The canonical text of some columns of a row."""
    return SEPARATOR.join(_canonical(column, value) for column, value in zip(columns, values, strict=True))


def is_marked(spec: TableSpec, row: Read) -> bool:
    """Whether the source says in a column of the row that it is gone, and such rows leave the copy."""
    deletes = spec.deletes
    if not deletes.drops_marked:
        return False
    mark = row.values[spec.shape.names.index(deletes.column)]
    found = str(mark).lower() if isinstance(mark, bool) else str(mark)
    return mark is not None and (deletes.value is None or found == deletes.value)


def key_text(spec: TableSpec, row: Read) -> str:
    """The key's canonical text, as the lake gives it; the row's hash where there is no key."""
    if not spec.key:
        return str(row_hash(spec.columns, row.values))
    columns, values = _key(spec, row)
    if len(columns) == 1 and columns[0].spark_type == "string":
        return NULL if values[0] is None else str(values[0])
    return row_text(columns, values)


def place(spec: TableSpec, row: Read) -> int:
    """Where its key lies on the line of `core.model.key_parts`; a key that Spark cannot hold lies where no copy's does."""
    if not spec.key:
        return row_hash(spec.columns, row.values)
    columns, values = _key(spec, row)
    if placed_by_value(spec):
        return NO_PLACE if values[0] is None else int(values[0])
    return row_hash(columns, values)


def _key(spec: TableSpec, row: Read) -> tuple[list[Column], list[Any]]:
    by_name = dict(zip(spec.shape.names, row.values, strict=True))
    return [column_of(spec, name) for name in spec.key], [by_name[name] for name in spec.key]


def _canonical(column: Column, value: Any) -> str:
    if value is None:
        return NULL
    match column.spark_type:
        case "float" | "double":
            return hexadecimal(value)
        case "date":
            return str((value - date(1970, 1, 1)).days)
        case "timestamp" | "timestamp_ntz":
            moment = value if value.tzinfo else value.replace(tzinfo=UTC)
            return str((moment - _EPOCH) // timedelta(microseconds=1))
        case "binary":
            return str(value.hex())
        case "boolean":
            return "true" if value else "false"
        case "string":
            return f"{len(value)}:{value}"
    return f"{value:f}" if isinstance(value, Decimal) else str(value)


def hexadecimal(value: float) -> str:
    """As Java's `%a` writes it."""
    if math.isnan(value) or math.isinf(value):
        return "NaN" if math.isnan(value) else "-Infinity" if value < 0 else "Infinity"
    mantissa, _, exponent = value.hex().partition("p")
    whole, _, fraction = mantissa.partition(".")
    return f"{whole}.{fraction.rstrip('0') or '0'}p{int(exponent)}"


def scaled(value: Decimal, scale: int) -> Decimal:
    """With all digits that its column has after the point, exactly."""
    return value.quantize(Decimal(1).scaleb(-scale), context=_DIGITS)
