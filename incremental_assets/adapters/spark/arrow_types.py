"""Spark's types as Arrow has them, in files that Spark reads as its own."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from types import MappingProxyType
from typing import Any

import pyarrow as pa

FLOATING = ("float", "double")
"""Types of which other programs than Spark have other texts, and which have numbers that are equal and look different."""
_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")
_SIMPLE = MappingProxyType(
    {
        "tinyint": pa.int8(),
        "smallint": pa.int16(),
        "int": pa.int32(),
        "bigint": pa.int64(),
        "float": pa.float32(),
        "double": pa.float64(),
        "boolean": pa.bool_(),
        "string": pa.string(),
        "binary": pa.binary(),
        "date": pa.date32(),
        "timestamp": pa.timestamp("us", tz="UTC"),
        "timestamp_ntz": pa.timestamp("us"),
    }
)


def arrow_type(spark_type: str) -> pa.DataType | None:
    """The type of a column's values; None for one that is not known here."""
    decimal = _DECIMAL.fullmatch(spark_type)
    return pa.decimal128(int(decimal[1]), int(decimal[2])) if decimal else _SIMPLE.get(spark_type)


def unknown_type(spark_types: Iterable[str]) -> str:
    """Why tasks cannot take columns of these types; empty where they can."""
    return "a column has a type that is not known here" if any(arrow_type(each) is None for each in spark_types) else ""


def required_type(spark_type: str) -> pa.DataType:
    """The same, of a type that is known. Raises ValueError."""
    found = arrow_type(spark_type)
    if found is None:
        raise ValueError(f"{spark_type} has no type in Arrow")
    return found


def typed(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """Values of a type, of which days and moments come as their numbers."""
    if pa.types.is_date32(kind):
        return pa.array(values, pa.int32()).cast(kind)
    return pa.array(values, pa.int64()).cast(kind) if pa.types.is_timestamp(kind) else pa.array(values, kind)


def comparable(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Days and moments as whole numbers: Python has none before the year 1 and none beyond 9999."""
    if pa.types.is_date32(values.type):
        return values.cast(pa.int32())
    return values.cast(pa.int64()) if pa.types.is_timestamp(values.type) else values


def shown(value: pa.Scalar) -> Any:
    """A value as Python has it, or as a text where Python has none."""
    try:
        return value.as_py()
    except (OverflowError, ValueError):
        return value.cast(pa.string()).as_py()
