"""Canonical texts of rows that Python holds, for the hashes of `measure.py`: what databases share that are read row by row."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

from incremental_assets.adapters.databases.measure import NULL, SEPARATOR, placed_by_value, text_hash
from incremental_assets.core.model.column import Column
from incremental_assets.core.model.table import TableSpec

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
NO_PLACE = -1 << 63
"""A place at which no copy has a key."""


def row_hash(columns: Sequence[Column], values: Sequence[Any]) -> int:
    """The hash of the canonical text."""
    return text_hash(row_text(columns, values))


def row_text(columns: Sequence[Column], values: Sequence[Any]) -> str:
    """The canonical text of some columns of a row."""
    return SEPARATOR.join(_canonical(column, value) for column, value in zip(columns, values, strict=True))


def is_marked(spec: TableSpec, values: Sequence[Any]) -> bool:
    """Whether the source says in a column of the row that it is gone, and such rows leave the copy."""
    deletes = spec.deletes
    if not deletes.drops_marked:
        return False
    mark = values[spec.shape.names.index(deletes.column)]
    found = str(mark).lower() if isinstance(mark, bool) else str(mark)
    return mark is not None and (deletes.value is None or found == deletes.value)


def key_text(spec: TableSpec, values: Sequence[Any]) -> str:
    """The key's canonical text, as the lake gives it; the row's hash where there is no key."""
    if not spec.key:
        return str(row_hash(spec.columns, values))
    return _one_or_more(*_key(spec, values))


def written_text(spec: TableSpec, values: Sequence[Any]) -> str:
    """The same of the key as it is written, where rows are told apart by a collation key."""
    by_name = dict(zip(spec.shape.names, values, strict=True))
    return _one_or_more(spec.key_columns, [by_name[name] for name in spec.named_key])


def place(spec: TableSpec, values: Sequence[Any]) -> int:
    """The place of the row's key on the line of `core.model.key_parts`; of a table without a key the row's hash. A number that Spark cannot hold lies where no copy has a key."""
    if not spec.key:
        return row_hash(spec.columns, values)
    columns, parts = _key(spec, values)
    if placed_by_value(spec):
        return NO_PLACE if parts[0] is None else int(parts[0])
    return row_hash(columns, parts)


def _one_or_more(columns: Sequence[Column], parts: Sequence[Any]) -> str:
    if len(columns) == 1 and columns[0].spark_type == "string":
        return NULL if parts[0] is None else str(parts[0])
    return row_text(columns, parts)


def _key(spec: TableSpec, values: Sequence[Any]) -> tuple[list[Column], list[Any]]:
    by_name = dict(zip(spec.shape.names, zip(spec.columns, values, strict=True), strict=True))
    columns, parts = zip(*(by_name[name] for name in spec.key), strict=True)
    return list(columns), list(parts)


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
    """The value as Java's `%a` writes it: `0x1.8p1`, `NaN`, `-Infinity`."""
    if math.isnan(value) or math.isinf(value):
        return "NaN" if math.isnan(value) else "-Infinity" if value < 0 else "Infinity"
    mantissa, _, exponent = value.hex().partition("p")
    whole, _, fraction = mantissa.partition(".")
    return f"{whole}.{fraction.rstrip('0') or '0'}p{int(exponent)}"
