"""Spark's types as Arrow has them, in files that Spark reads as its own."""

from __future__ import annotations

import re
from types import MappingProxyType

import pyarrow as pa

from incremental_assets.adapters.delta.direct.not_direct import NotDirect

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


def arrow_type(spark_type: str) -> pa.DataType:
    """The type of a column's values. Raises NotDirect for one that is not known here."""
    decimal = _DECIMAL.fullmatch(spark_type)
    found = pa.decimal128(int(decimal[1]), int(decimal[2])) if decimal else _SIMPLE.get(spark_type)
    if found is None:
        raise NotDirect(f"columns of type {spark_type} are not known here")
    return found
